// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

// Holdfast from C (C11), and from each language that calls C. It is the C++ of <holdfast/holdfast.hpp> in
// fewer types: a client opens a store, `holdfast_acquire` gives a lease of one name or of several, in each
// mode, and `holdfast_campaign` that of an election. The guarantees, and the meaning of each option, are
// those of the C++ type that a comment names here.
//
// *Errors.* A function that can fail returns HOLDFAST_OK, which is 0, or another value of `enum
// holdfast_error`. Its last parameter, `message`, may be NULL. If it is not, the function sets *message: to
// NULL on success, on failure to a text that the caller frees with `holdfast_free`. The text names the
// operation, the lock, the store and the cause, and no password. It is NULL after a failure only if memory
// has run out. What a function would hand out is NULL, 0 or -1 after a failure. No C++ exception leaves a
// function.
//
// *Threads.* Each function may be called from any thread at any time, also for an object that another thread
// uses. The exception are those that end in _free: no other call with that object may run then, or follow.
// They take NULL, and do nothing then. A thread must not be cancelled (pthread_cancel) in a function of the
// library.
//
// *Callbacks.* There are none. What happens meanwhile makes a descriptor readable, for poll() or epoll. A
// program with a loop of its own starts operations with the functions that end in _start, and takes their
// ends from a queue.
//
// *fork().* In a child all functions fail with HOLDFAST_ERR_CLOSED for the objects of the parent, or answer
// that nothing is held, and those that end in _free take nothing from the parent. The descriptors of the
// library belong to the parent. A child opens a client of its own.
//
// *Texts* end with a zero byte and are UTF-8. Those that a function takes are copied. *Times* are
// milliseconds.
//
// *ABI.* A function that stands here stays, with its parameters and its values. A struct that the caller
// fills has its size in its first member, which its _INIT macro sets, and grows at its end; zero in a member
// that a program does not know has the effect of before. A struct that the library hands out grows at its
// end, too. Whoever is linked with libholdfast.so.0.1 is linked anew for 0.2, because C++ changes with it,
// without a change of source.

// NOLINTBEGIN(modernize-*,readability-identifier-naming): this is C
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HOLDFAST_API __attribute__((visibility("default")))
#else
#define HOLDFAST_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// What a function returns; docs/errors.md says what to do about each. The numbers are those of
/// `holdfast::errc`.
enum holdfast_error {
  HOLDFAST_OK = 0,                    ///< done
  HOLDFAST_ERR_TIMEOUT = 1,           ///< the wait passed while another held the name; at once for wait_ms 0
  HOLDFAST_ERR_LOST = 2,              ///< the lease ended before its holder released it
  HOLDFAST_ERR_NOT_OWNER = 3,         ///< the lease was released by this process before
  HOLDFAST_ERR_UNAVAILABLE = 4,       ///< the store cannot be reached, or answers that it cannot serve now
  HOLDFAST_ERR_UNKNOWN_OUTCOME = 5,   ///< it may have been carried out; the store does not answer
  HOLDFAST_ERR_INVALID_NAME = 6,      ///< a name is 1 to 512 bytes of UTF-8 without control characters
  HOLDFAST_ERR_INVALID_ARGUMENT = 7,  ///< an option, limit, count or pointer that the call does not take
  HOLDFAST_ERR_INVALID_URL = 8,       ///< a store URL that cannot be read; unknown schemes and options too
  HOLDFAST_ERR_WRONG_TYPE = 9,      ///< the name is in use as another kind of lock, or with another capacity
  HOLDFAST_ERR_FOREIGN_STORE = 10,  ///< the file, table or key there is not Holdfast's; it is left untouched
  HOLDFAST_ERR_CORRUPT_STORE = 11,  ///< the store's file or answer is damaged
  HOLDFAST_ERR_PERMISSION_DENIED = 12,  ///< the store or the file system refuses this user
  HOLDFAST_ERR_EXHAUSTED = 13,          ///< out of memory, descriptors, threads or disk
  HOLDFAST_ERR_CANCELLED = 14,          ///< `holdfast_stop_request` ended the wait
  HOLDFAST_ERR_CLOSED = 15              ///< the client was closed, or this process is a fork of its owner
};

/// How a name is held.
enum holdfast_mode {
  HOLDFAST_EXCLUSIVE = 0,  ///< by one, as `holdfast::mutex`
  HOLDFAST_SHARED = 1,     ///< by any number of readers and no writer, as `holdfast::shared_mutex`
  HOLDFAST_PERMITS = 2,    ///< by holders whose permits fit the capacity, as `holdfast::counting_semaphore`
  HOLDFAST_WRITER = 3      ///< as HOLDFAST_EXCLUSIVE; readers of other libraries on ZooKeeper heed it, too
};

/// Why a lease was lost, as `holdfast::loss_reason`.
enum holdfast_loss {
  HOLDFAST_NOT_LOST = 0,        ///< it is held, or was released by its holder
  HOLDFAST_ENDED_AT_STORE = 1,  ///< by force, or its ttl ended there, or the store lost it
  HOLDFAST_NOT_RENEWED = 2,     ///< no renewal was confirmed before the deadline
  HOLDFAST_SESSION_ENDED = 3,   ///< the client's session was not confirmed before the deadline
  HOLDFAST_CLIENT_CLOSED = 4    ///< the client was closed
};

/// A time of an option: as long as it takes.
#define HOLDFAST_FOREVER INT64_C(-1)
/// A time of an option: zero. 0 itself means the default of an option.
#define HOLDFAST_NONE INT64_C(-2)

/// A client of one store, as `holdfast::client`.
typedef struct holdfast_client holdfast_client;
/// What is held of one name or of several, or the term of a leader: `holdfast::lease`, `lease_set`, `term`.
typedef struct holdfast_lease holdfast_lease;
/// Ends waits from another thread, as `std::stop_source`.
typedef struct holdfast_stop holdfast_stop;
/// Takes the ends of operations that were started without waiting for them.
typedef struct holdfast_queue holdfast_queue;
/// Tells of changes of a name, as `holdfast::client::watch`.
typedef struct holdfast_watch holdfast_watch;
/// Refuses holders that act late, as `holdfast::fence`.
typedef struct holdfast_fence holdfast_fence;

/// How a name is waited for and held, as `holdfast::lock_options`, which has the ranges. 0 and NULL: the
/// default.
typedef struct holdfast_lock_options holdfast_lock_options;
struct holdfast_lock_options {
  size_t struct_size;       ///< HOLDFAST_LOCK_OPTIONS_INIT sets it
  int64_t ttl_ms;           ///< how long a grant lives at the store without renewal; default 30 000
  int64_t drift_margin_ms;  ///< off every deadline for clocks of different rates; default 1 % of the ttl + 2
  int64_t grace_ms;         ///< how long the name rests after a loss; default 0
  int64_t at_least_ms;      ///< the least time for which the name stays locked from its grant; default 0
  int64_t retry_limit_ms;   ///< gives up a store that does not answer; default 10 000; FOREVER, or NONE
  const char* label;        ///< for people who look; default: empty
  bool is_fixed;  ///< not renewed in the background: it ends unless `holdfast_lease_renew` is called
};
#define HOLDFAST_LOCK_OPTIONS_INIT {sizeof(holdfast_lock_options), 0, 0, 0, 0, 0, NULL, false}

/// How a client behaves, as `holdfast::client_options`. 0 and NULL: the default.
typedef struct holdfast_client_options holdfast_client_options;
struct holdfast_client_options {
  size_t struct_size;                  ///< HOLDFAST_CLIENT_OPTIONS_INIT sets it
  const holdfast_lock_options* locks;  ///< of every request without options of its own
  int64_t flush_limit_ms;  ///< how long closing waits for releases under way; default 2 000; or NONE
  const char* program;     ///< shown to people who look; default: the name of the program
  const char* password;    ///< of the store, where it should not stand in the URL
};
#define HOLDFAST_CLIENT_OPTIONS_INIT {sizeof(holdfast_client_options), NULL, 0, NULL, NULL}

/// One name of a request. This struct does not grow.
typedef struct holdfast_spec holdfast_spec;
struct holdfast_spec {
  const char* name;  ///< 1 to 512 bytes of UTF-8 without control characters
  int mode;          ///< of `enum holdfast_mode`
  int64_t permits;   ///< for HOLDFAST_PERMITS 1 to `capacity`; for the other modes 0
  int64_t capacity;  ///< for HOLDFAST_PERMITS how many there are, for all users; for the other modes 0
};

/// A wish to hold.
typedef struct holdfast_request holdfast_request;
struct holdfast_request {
  size_t struct_size;          ///< HOLDFAST_REQUEST_INIT sets it
  const holdfast_spec* specs;  ///< the names
  size_t spec_count;           ///< 1 to 256; several are taken together or not at all
  int64_t wait_ms;             ///< HOLDFAST_FOREVER; 0: ask the store once and do not enter the queue
  holdfast_stop* stop;         ///< ends the wait; NULL: nothing does
  const holdfast_lock_options* options;  ///< in place of the client's; NULL: the client's
};
/// A request for `count` names that waits as long as it takes.
#define HOLDFAST_REQUEST_INIT(specs, count) \
  {sizeof(holdfast_request), (specs), (count), HOLDFAST_FOREVER, NULL, NULL}

/// How an operation has ended that was started with a queue. This struct does not grow.
typedef struct holdfast_completion holdfast_completion;
struct holdfast_completion {
  uint64_t tag;           ///< as it was given to the start
  int code;               ///< as the function without _start returns it
  char* message;          ///< as that function sets it; to be freed with `holdfast_free`
  holdfast_lease* lease;  ///< what an acquisition or a campaign holds, to be freed; NULL otherwise
};

/// A holder or a waiter, as `holdfast::claim_state`. Its process chose the texts and the value: never trust
/// them.
typedef struct holdfast_claim holdfast_claim;
struct holdfast_claim {
  const char* owner;            ///< the claim's random id; empty for a candidate
  int mode;                     ///< of `enum holdfast_mode`, without HOLDFAST_WRITER
  int64_t permits;              ///< of HOLDFAST_PERMITS
  uint64_t token;               ///< zero for a holder of another library
  int64_t age_ms;               ///< since it was granted, or queued
  int64_t expires_in_ms;        ///< until it ends unless it is renewed
  const char* host;             ///< of its process
  int64_t pid;                  ///< there; zero where it is not known
  const char* program;          ///< holdfast_client_options::program
  const char* label;            ///< holdfast_lock_options::label
  const char* job;              ///< the `holdfast run` that it is part of; empty otherwise
  const char* release_request;  ///< NULL where nobody has asked it to release
  const void* value;            ///< of a candidate of an election; NULL otherwise
  size_t value_size;            ///< in bytes
  bool is_released;             ///< the name rests, see holdfast_lock_options::at_least_ms
};

/// What one of several servers says, as `holdfast::server_note`: it differs from the majority, or is not
/// heard.
typedef struct holdfast_note holdfast_note;
struct holdfast_note {
  const char* server;  ///< its host and port
  const char* text;    ///< for people: in what it differs, or why it is not counted
  bool answers;        ///< false: it is out of reach, or refuses
};

/// A name as the store has it, as `holdfast::lock_state`.
typedef struct holdfast_state holdfast_state;
struct holdfast_state {
  const char* name;     ///< as it was asked for
  int64_t capacity;     ///< of a semaphore; zero for every other lock
  uint64_t last_token;  ///< the largest ever drawn; zero where the store does not know the name
  const holdfast_claim* const* holders;  ///< in the order of their grants
  size_t holder_count;                   ///< of them
  const holdfast_claim* const* waiters;  ///< in the order in which they will be served
  size_t waiter_count;                   ///< of them
  int64_t paused_for_ms;              ///< how long the store still grants nothing to anybody; zero: it grants
  const char* pause_reason;           ///< why; empty where it grants
  const holdfast_note* const* notes;  ///< only on Redlock: without a majority the rest may lack holders
  size_t note_count;                  ///< of them
};

/// Frees a text that a function has handed out.
HOLDFAST_API void holdfast_free(char* text);
/// The version of the library, such as "0.1.0".
HOLDFAST_API const char* holdfast_version(void);
/// A few words for a value of `enum holdfast_error`, such as "the lease was lost". Never NULL, never freed.
HOLDFAST_API const char* holdfast_error_text(int code);
/// The name of a value of `enum holdfast_loss`, such as "not_renewed"; "" for HOLDFAST_NOT_LOST. Never freed.
HOLDFAST_API const char* holdfast_loss_text(int loss);

/// Opens a store, as the constructor of `holdfast::client`. Make one per store and process. It connects in
/// the background, so the first request reports a server that does not answer.
/// \param url as docs/stores/README.md lists them; NULL: HOLDFAST_STORE of the environment, else `sqlite:`.
/// \param options NULL: the defaults.
/// \return HOLDFAST_OK or INVALID_URL, INVALID_ARGUMENT, UNAVAILABLE, PERMISSION_DENIED, FOREIGN_STORE,
///         CORRUPT_STORE, EXHAUSTED.
HOLDFAST_API int holdfast_client_open(const char* url, const holdfast_client_options* options,
                                      holdfast_client** client, char** message);
/// The URL with its password masked; valid as long as the client.
HOLDFAST_API const char* holdfast_client_url(const holdfast_client* client);
/// Ends the client: its waits fail with HOLDFAST_ERR_CLOSED, its leases are lost, releases are sent. Waits
/// for the store for at most `flush_limit_ms`. The client remains to be freed.
HOLDFAST_API void holdfast_client_close(holdfast_client* client);
/// Closes the client and frees it. Leases, watches and stops may be freed before it or after it.
HOLDFAST_API void holdfast_client_free(holdfast_client* client);

/// Makes a handle with which other threads end waits. It serves any number of requests, and clients.
/// \return HOLDFAST_OK or EXHAUSTED.
HOLDFAST_API int holdfast_stop_create(holdfast_stop** stop, char** message);
/// Ends the waits of all requests that have it, now and later, with HOLDFAST_ERR_CANCELLED. Their places in
/// queues are given up. Does not wait. Not for a signal handler.
HOLDFAST_API void holdfast_stop_request(holdfast_stop* stop);
/// Frees it. Requests that wait with it go on waiting.
HOLDFAST_API void holdfast_stop_free(holdfast_stop* stop);

/// Waits in the queue until all names are held, first come first served; see `holdfast::mutex` and, for
/// several names, `holdfast::lock_set`.
/// \param lease what is held, to be freed.
/// \return HOLDFAST_OK; HOLDFAST_ERR_TIMEOUT where another held a name for all of `wait_ms`, which only a
///         store that answers brings about; CANCELLED; UNAVAILABLE or UNKNOWN_OUTCOME where the store does
///         not answer (a claim that it may have is withdrawn in the background); INVALID_NAME,
///         INVALID_ARGUMENT, WRONG_TYPE, PERMISSION_DENIED, FOREIGN_STORE, CORRUPT_STORE, EXHAUSTED, CLOSED;
///         LOST where the answer took longer than the ttl lasts, several times.
HOLDFAST_API int holdfast_acquire(holdfast_client* client, const holdfast_request* request,
                                  holdfast_lease** lease, char** message);
/// Stands by until this candidate is elected, as `holdfast::election::campaign`.
/// \param request one name, HOLDFAST_EXCLUSIVE, without `at_least_ms`.
/// \param value others see it, such as an address: at most 4096 bytes of any kind; NULL for none.
/// \param size of the value, in bytes.
/// \param lease the term, to be freed.
/// \return as `holdfast_acquire`. Once it stands by, it stays so while the store is out of reach.
HOLDFAST_API int holdfast_campaign(holdfast_client* client, const holdfast_request* request,
                                   const void* value, size_t size, holdfast_lease** lease, char** message);

/// How many names the lease has.
HOLDFAST_API size_t holdfast_lease_count(const holdfast_lease* lease);
/// A name; valid as long as the lease, also after a release.
/// \param index in the order of the request; NULL for one that is not less than the count.
HOLDFAST_API const char* holdfast_lease_name(const holdfast_lease* lease, size_t index);
/// The fencing token of a name: larger than that of every earlier grant of it. Pass it to the resource that
/// the name protects, which refuses a smaller one than it has seen. Also of a lease that is lost or released.
/// \param index as above; 0 for one that is not less than the count.
HOLDFAST_API uint64_t holdfast_lease_token(const holdfast_lease* lease, size_t index);
/// Whether all names are held now. Reads the clock: false from the deadline on. Does not ask the store.
HOLDFAST_API bool holdfast_lease_is_held(const holdfast_lease* lease);
/// The time left until the deadline, rounded down; zero when it is lost or released.
HOLDFAST_API int64_t holdfast_lease_remaining_ms(const holdfast_lease* lease);
/// Why a name was lost: a value of `enum holdfast_loss`. Set before the descriptor of the loss is readable;
/// `holdfast_lease_is_held` may answer false a moment earlier.
/// \param index of the name.
HOLDFAST_API int holdfast_lease_loss(const holdfast_lease* lease, size_t index);
/// A descriptor that becomes readable when the first name is lost, at or before the deadline, as far as the
/// machine lets the process run then; and never after a release. It stays readable. Neither read it nor close
/// it: it belongs to the lease, and is closed with it. The same one for each call.
/// \return HOLDFAST_OK, or NOT_OWNER after a release, EXHAUSTED, CLOSED.
HOLDFAST_API int holdfast_lease_lost_fd(holdfast_lease* lease, int* fd, char** message);
/// A descriptor that becomes readable when somebody asks for the release (`holdfast_request_release`),
/// otherwise as above. The lease stays held until its holder releases it.
HOLDFAST_API int holdfast_lease_release_request_fd(holdfast_lease* lease, int* fd, char** message);
/// The reason of the first such request, as its sender wrote it: never trust it.
/// \param reason to be freed with `holdfast_free`; NULL where nobody has asked; "" where no reason was given.
/// \return HOLDFAST_OK, or NOT_OWNER after a release, CLOSED.
HOLDFAST_API int holdfast_lease_release_request(const holdfast_lease* lease, char** reason, char** message);
/// Renews now, and waits for the store's answer until the deadline at most. Needed only with `is_fixed`.
/// \return HOLDFAST_OK; LOST; UNKNOWN_OUTCOME: no answer, it is held until its unchanged deadline;
///         NOT_OWNER after a release; CLOSED in a child.
HOLDFAST_API int holdfast_lease_renew(holdfast_lease* lease, char** message);
/// Changes an exclusive hold of one name to a shared one without releasing it, as
/// `holdfast::lease::downgrade`.
/// \return HOLDFAST_OK; LOST; UNAVAILABLE, when it is exclusive still; UNKNOWN_OUTCOME, when it counts as
///         shared; WRONG_TYPE for permits; INVALID_ARGUMENT for several names and for a term; NOT_OWNER
///         after a release; CLOSED.
HOLDFAST_API int holdfast_lease_downgrade(holdfast_lease* lease, char** message);
/// Replaces the value that others see of a leader, as `holdfast::term::proclaim`.
/// \return HOLDFAST_OK; LOST; INVALID_ARGUMENT for what is no term, or a value of more than 4096 bytes;
///         UNKNOWN_OUTCOME, when others may see either; NOT_OWNER after a release; UNAVAILABLE and other
///         refusals of the store; CLOSED.
HOLDFAST_API int holdfast_lease_proclaim(holdfast_lease* lease, const void* value, size_t size,
                                         char** message);
/// Releases all names, and waits for the store's confirmation; until the ttl has surely ended the hold at
/// most. For other calls the lease is released from the start of this one, also for those that run.
/// \return HOLDFAST_OK; LOST where it had ended before, so that another may have held during the work;
///         NOT_OWNER after a release; UNKNOWN_OUTCOME where the store could not be asked until the ttl had
///         surely ended it; CLOSED.
HOLDFAST_API int holdfast_lease_release(holdfast_lease* lease, char** message);
/// Frees the lease. What it still holds is released without waiting for the store.
HOLDFAST_API void holdfast_lease_free(holdfast_lease* lease);

/// Makes a queue of ends. One serves any number of operations, and clients.
/// \param patience_ms how long a function that starts an operation with this queue waits for its end. It
///        performs I/O for the client meanwhile, so that what ends soon wakes no other thread. 0: it does not
///        wait.
/// \return HOLDFAST_OK or INVALID_ARGUMENT, EXHAUSTED.
HOLDFAST_API int holdfast_queue_open(int64_t patience_ms, holdfast_queue** queue, char** message);
/// The descriptor, which is readable while the queue has an end. It belongs to the queue: neither read it nor
/// close it. -1 in a child.
HOLDFAST_API int holdfast_queue_fd(const holdfast_queue* queue);
/// Takes the oldest end from the queue. Does not wait.
/// \return false if there is none; all members of `completion` are zero then.
HOLDFAST_API bool holdfast_queue_next(holdfast_queue* queue, holdfast_completion* completion);
/// Frees the queue. Operations under way go on, and what they acquire later is released.
HOLDFAST_API void holdfast_queue_free(holdfast_queue* queue);

/// Starts `holdfast_acquire`, and waits no longer than the queue's patience: its end comes through `queue`,
/// once. `request->stop` ends it early. The request, its stop and the queue may be freed after the call.
/// \param tag anything; it comes back with the end.
/// \return HOLDFAST_OK. INVALID_NAME, INVALID_ARGUMENT and, in a child, CLOSED: nothing comes through the
///         queue.
HOLDFAST_API int holdfast_acquire_start(holdfast_client* client, const holdfast_request* request,
                                        holdfast_queue* queue, uint64_t tag, char** message);
/// Starts `holdfast_campaign`, otherwise as above.
HOLDFAST_API int holdfast_campaign_start(holdfast_client* client, const holdfast_request* request,
                                         const void* value, size_t size, holdfast_queue* queue, uint64_t tag,
                                         char** message);
/// Starts `holdfast_lease_release`, otherwise as above. The lease may be freed after the call.
/// \return HOLDFAST_OK; NOT_OWNER after a release, INVALID_ARGUMENT, CLOSED: nothing comes through the queue.
HOLDFAST_API int holdfast_lease_release_start(holdfast_lease* lease, holdfast_queue* queue, uint64_t tag,
                                              char** message);

/// Asks holders to release a name, as `holdfast::client::request_release`. They hear of it, and decide.
/// \param token that of the holder to ask; 0: all of them.
/// \param reason for people: at most 200 bytes; NULL: none.
/// \param count how many were asked; may be NULL.
/// \return HOLDFAST_OK, also if nobody holds it; INVALID_NAME, INVALID_ARGUMENT, UNAVAILABLE,
/// UNKNOWN_OUTCOME,
///         PERMISSION_DENIED, CLOSED.
HOLDFAST_API int holdfast_request_release(holdfast_client* client, const char* name, uint64_t token,
                                          const char* reason, size_t* count, char** message);
/// Ends holds, of any client, at once, as `holdfast::client::force_release`: until a holder notices its loss,
/// only the token fences what it does.
/// \param token that of the hold to end; 0: all of them.
/// \param count how many were ended; may be NULL.
/// \return as `holdfast_request_release`.
HOLDFAST_API int holdfast_force_release(holdfast_client* client, const char* name, uint64_t token,
                                        size_t* count, char** message);

/// The state of a name, as `holdfast::client::inspect`: it reflects every operation acknowledged before the
/// call.
/// \param most_waiters of them; 0: the holders alone; SIZE_MAX: all.
/// \param state to be freed; without holders and waiters if the store does not know the name.
/// \return HOLDFAST_OK; INVALID_NAME, INVALID_ARGUMENT, UNAVAILABLE, WRONG_TYPE, PERMISSION_DENIED,
/// CORRUPT_STORE,
///         CLOSED.
HOLDFAST_API int holdfast_inspect(holdfast_client* client, const char* name, size_t most_waiters,
                                  holdfast_state** state, char** message);
/// The participants of an election, as `holdfast::election::participants`: the leader is the holder, and
/// those who stand by are the waiters, each with its value. Of another library's clients, too.
/// \param state to be freed; its `last_token` is that of the leader, or zero.
/// \return as `holdfast_inspect`.
HOLDFAST_API int holdfast_inspect_election(holdfast_client* client, const char* name, holdfast_state** state,
                                           char** message);
/// Frees it with all that it points to.
HOLDFAST_API void holdfast_state_free(holdfast_state* state);

/// Tells of changes, as `holdfast::client::watch`. Its descriptor is readable soon after the call, and after
/// each burst of changes. Then: `holdfast_watch_clear`, and look with `holdfast_inspect` or
/// `holdfast_inspect_election`.
/// \param name NULL: changes of any name.
/// \return HOLDFAST_OK; INVALID_NAME, EXHAUSTED, CLOSED.
HOLDFAST_API int holdfast_watch_open(holdfast_client* client, const char* name, holdfast_watch** watch,
                                     char** message);
/// The descriptor, which belongs to the watch and is closed with it; -1 in a child.
HOLDFAST_API int holdfast_watch_fd(const holdfast_watch* watch);
/// Makes the descriptor unreadable until the next change. Clear first and look then, so that no change is
/// missed.
HOLDFAST_API void holdfast_watch_clear(holdfast_watch* watch);
/// Ends the watch.
HOLDFAST_API void holdfast_watch_free(holdfast_watch* watch);

/// Makes a fence, as `holdfast::fence`: for the service, or the owner of a file, that a lock protects.
/// \param file where it keeps its tokens, made if it does not exist; NULL: in memory.
/// \param wait_ms for another fence that has the file; 0: none; or HOLDFAST_FOREVER.
/// \param most how many resources it remembers; 0: 65 536.
/// \return HOLDFAST_OK, or TIMEOUT, FOREIGN_STORE, CORRUPT_STORE, PERMISSION_DENIED, EXHAUSTED, UNAVAILABLE.
HOLDFAST_API int holdfast_fence_open(const char* file, int64_t wait_ms, size_t most, holdfast_fence** fence,
                                     char** message);
/// Admits a token that is not older than the largest one of the resource, and remembers it. Hold a mutex of
/// the resource over this call and the access.
/// \param admitted false also on failure: the caller must not write then.
/// \return HOLDFAST_OK, also for a token that is refused; INVALID_NAME; EXHAUSTED, PERMISSION_DENIED or
///         UNAVAILABLE if the file cannot be written; CLOSED.
HOLDFAST_API int holdfast_fence_admit(holdfast_fence* fence, const char* resource, uint64_t token,
                                      bool* admitted, char** message);
/// The largest token of the resource that was admitted; zero if none is remembered.
/// \return HOLDFAST_OK, INVALID_NAME or CLOSED.
HOLDFAST_API int holdfast_fence_largest(const holdfast_fence* fence, const char* resource, uint64_t* token,
                                        char** message);
/// Frees it, and releases its file.
HOLDFAST_API void holdfast_fence_free(holdfast_fence* fence);

#ifdef __cplusplus
}
#endif
// NOLINTEND(modernize-*,readability-identifier-naming)

#endif
