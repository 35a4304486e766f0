#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/owner_id.hpp"
#include "core/link.hpp"
#include "core/results.hpp"

namespace holdfast::tickets {

/// The tasks of a store that queues claims itself. Each is carried out atomically.
///
/// `request_release` asks holders to release: it writes the reason, which is the metadata of the request,
/// into the metadata of each hold (see base/release_request.hpp), and notifies their clients.
enum class task : std::uint8_t {
  acquire,        // name owner weight capacity shareable ttl wait metadata -> place, refused, other_capacity
  find,           // name owner -> place, nothing                  where a claim stands whose reply was lost
  look,           // name owner token ttl -> nothing, or as `acquire`  keep a waiting claim, and serve
  renew,          // batch of (name owner token ttl) -> kept
  release,        // name owner token -> done, nothing
  withdraw,       // name owner -> done, nothing                   as release, for a token not known
  downgrade,      // name owner token -> done, nothing
  annotate,       // name owner token metadata -> done, nothing    of a claim that holds alone
  force_release,  // name token last -> count                      the holds from `token` to `last`
  request_release,  // name token last metadata -> count           likewise
  inspect,          // name waiters_read listed -> state, more
  list,             // idle listed -> summaries, more
};
/// Whether the task ends a claim. No caller waits for its reply.
[[nodiscard]] constexpr bool is_release(task t) { return t == task::release || t == task::withdraw; }
/// Whether the task changes nothing at the store.
[[nodiscard]] constexpr bool is_read_only(task t) {
  return t == task::inspect || t == task::list || t == task::find;
}

inline constexpr std::size_t task_count = static_cast<std::size_t>(task::list) + 1;

/// What a request means at one of several servers, a majority of which has to grant: see stores/quorum.
enum class ballot_step : std::uint8_t {
  none,    // the server decides alone
  claim,   // acquire: name owner token weight ... -> ballot       or keep what it has
  yield,   // look: name owner grant ttl -> ballot, nothing        give way to a claim that goes first
  accept,  // look: name owner token ttl -> ballot, nothing        propose another token
  end,     // force_release: name owner last -> count              end the hold of that owner
};

/// What one of several servers says of a claim, beside its place there.
struct ballot {
  fencing_token accepted;             // as the claim's token; zero: none
  fencing_token fence;                // the largest token that it has accepted of anybody, or its clock
  std::uint64_t grant = 0;            // the number of the grant, for a yield
  bool is_overtaken = false;          // granted, and another claim goes first
  std::string blocker;                // not granted: which holder the claim waits for
  std::chrono::microseconds clock{};  // of the server
};

/// The state of a listing, or an inspection, that takes several requests. Each store derives its own.
struct listing_state {
  listing_state() = default;
  listing_state(const listing_state&) = delete;
  listing_state& operator=(const listing_state&) = delete;
  virtual ~listing_state() = default;
};

struct request {
  task kind{};
  std::string name;
  owner_id owner;
  fencing_token token;
  /// Of those to end by force; at one of several servers of all ends: no claim with a larger number.
  fencing_token last{std::numeric_limits<std::int64_t>::max()};
  std::int64_t weight = 0;
  std::int64_t capacity = 0;
  bool shareable = false;
  bool election = false;
  duration ttl{};    // at the store
  duration grace{};  // of a claim: the end of the ttl, for which its client does not believe to hold
  bool wait = false;
  bool idle = false;
  bool met_foreign = false;  // of a release: one of several servers has told the claim of a foreign holder
  /// Number of waiters to read, from the head of the queue. More may come.
  std::size_t waiters_read = std::numeric_limits<std::size_t>::max();
  std::shared_ptr<const std::string> metadata;
  std::vector<store::hold> batch;
  std::shared_ptr<listing_state> listed;  // by the requests before, if it takes several
  /// Of a renewal: where a server has refused it, no link sends it again from then on. Its client may have
  /// given up the holds.
  store::time_point send_by = store::time_point::max();
  bool is_last = false;  // of a renewal of one hold: nobody keeps it any more, and it ends with its ttl
  ballot_step step = ballot_step::none;
  std::uint64_t grant = 0;  // of a yield
};

/// Whether no link sends the request again.
[[nodiscard]] inline bool is_too_late(const request& of, store::time_point now) { return now >= of.send_by; }

/// The longest that a claim of the request may live.
[[nodiscard]] inline duration longest_ttl(const request& of) {
  duration longest = of.ttl;
  for (const store::hold& h : of.batch) longest = std::max(longest, h.ttl);
  return longest;
}

/// The metadata of the request; empty where it has none.
[[nodiscard]] inline std::string_view metadata_of(const request& of) {
  return of.metadata ? std::string_view{*of.metadata} : std::string_view{};
}

struct nothing {};  // the claim is not there (any more)
struct done {};
struct refused {
  std::optional<ballot> vote{};  // of one of several servers
};
/// The store grants nothing to anybody for a while. Nothing was written.
struct paused {
  failure reason;
};
struct other_capacity {
  std::int64_t capacity = 0;
};
/// Where a claim stands in its queue.
struct place {
  fencing_token token;
  bool granted = false;
  bool head = false;                    // nobody waits before it
  std::optional<duration> holder_left;  // until the first of the holders expires
  bool silent = false;                  // a holder notifies nobody when it ends: a foreign one
  std::optional<failure> pause{};       // why the store grants nothing to anybody, for `holder_left`
  std::optional<ballot> vote{};         // of one of several servers
  /// A grant counts from then, if that is earlier than the request.
  std::optional<store::time_point> counts_from{};
  bool is_doubted = false;  // granted, in a session that is not known to live: see driver
};
struct kept {
  std::vector<bool> each;
  std::vector<std::size_t> unsure{};  // those of them, by index, that the store could not look at
};
struct count {
  std::size_t value = 0;
};
/// A part of a listing or an inspection: the next request continues it.
struct more {
  std::shared_ptr<listing_state> listed;
  bool progress = true;  // it went on since the request before
};

using reply = std::variant<nothing, done, refused, paused, other_capacity, place, kept, count, more,
                           std::optional<lock_state>, std::vector<lock_summary>>;

using link = store::link<request, reply>;

}  // namespace holdfast::tickets
