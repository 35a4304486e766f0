#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/arrivals.hpp"
#include "core/port.hpp"
#include "core/scheduler.hpp"
#include "lease/lease_manager.hpp"
#include "lease/repeated_look.hpp"

namespace holdfast::lease_core {

/// A latch, or one party of a barrier, on one client: what it is, and what it has at the store. The user's
/// object and the calls that are under way share it; they use it under the core lock.
struct rendezvous {
  enum class type : std::uint8_t { latch, barrier };

  type kind = type::latch;
  std::ptrdiff_t expected = 1;
  wish terms;     // of its claims, without owner and metadata
  claimant self;  // for their metadata, without a value

  // Of a latch:
  struct count {
    std::int64_t number = 0;
    owner_id id;
    lease_record_ptr lease;  // empty where its call has failed: it may have counted
  };
  /// The next call of the same number has the id of a count that is not held, so that the two count once.
  std::vector<count> counts;

  // Of a barrier:
  owner_id party = owner_id::random();
  std::uint64_t phase = 0;  // where it arrives next, or has arrived
  bool has_joined = false;  // false: the others may be at a later phase; the store has to say
  bool has_arrived = false;
  bool busy = false;       // a call is under way
  lease_record_ptr place;  // the claim that says so: arrived at this phase, or passed the one before
};
using rendezvous_ptr = std::shared_ptr<rendezvous>;

/// One call of a latch or a barrier.
struct rendezvous_call {
  std::int64_t count = 0;                  ///< of a latch: to count down first
  bool waits = true;                       ///< of a latch: then to wait until it is open
  std::optional<store::time_point> until;  ///< end of the wait; empty: none
};

/// Complete, or how far it was at the end of the wait.
using arrived = std::variant<arrivals, failure>;

/// The calls of latches and barriers on one client: claims of permits, which say in their metadata what they
/// stand for, and waits until the claims of all are seen.
///
/// *Latch.* A count is a claim of so many permits, of as many as the latch expects. It stays at the store
/// when its client ends, until its ttl ends it. The latch is open while all permits are taken.
///
/// *Barrier.* A party arrives at a phase with a claim "arrived p". When it sees that p is complete, it claims
/// "passed p", ends its arrival, and returns; "passed p" ends when "arrived p + 1" is there. So at each
/// moment after p was complete, until the last party is told, a claim shows that it was: an arrival, by
/// completeness before, or a passing. The last passing of a party stays until its ttl ends it.
///
/// Called under the core lock; handlers are called under it, too.
class rendezvous_calls {
 public:
  using call_id = std::uint64_t;

  rendezvous_calls(store::scheduler& time, store::port& port, lease_manager& leases)
      : time_{time}, port_{port}, leases_{leases} {}
  ~rendezvous_calls();
  rendezvous_calls(const rendezvous_calls&) = delete;
  rendezvous_calls& operator=(const rendezvous_calls&) = delete;

  call_id start(const rendezvous_ptr& at, rendezvous_call call, std::function<void(arrived)> done);
  /// Ends a call with errc::cancelled. A count that was asked for is withdrawn; an arrival that is there
  /// stays.
  void cancel(call_id id);
  /// A lease of this client has been lost. The calls that wait on its object end with errc::lost.
  void lost(const lease_record_ptr& lease);
  /// The user's object is destroyed, and no call is under way: what has to stay at the store is left there.
  void leave(const rendezvous_ptr& at);
  /// Ends all calls with errc::closed.
  void close();

 private:
  struct operation {
    rendezvous_ptr at;
    rendezvous_call call;
    std::function<void(arrived)> done;
    store::scheduler::timer limit = 0;
    lease_manager::claim_id claim = 0;
    std::optional<store::time_point> claim_limit;
    std::optional<rendezvous::count> unconfirmed;  // asked for
    bool refused = false;                          // fewer permits than its count are free; a look shows why
    bool is_complete = false;                      // of a barrier: the phase, whose passing is being claimed
    bool overdue = false;                          // the limit is over, and the answer to a look is awaited
    arrivals seen;                                 // by the last look
    std::unique_ptr<repeated_look> looks;
    std::shared_ptr<void> watch;
  };

  void go_on(call_id id);
  void claim(call_id id, store::attendance::kind next);
  void on_claimed(call_id id, store::attendance::kind next, taken result);
  void on_count(call_id id, const lease_record_ptr& lease);
  void on_step(call_id id, store::attendance::kind next, const lease_record_ptr& lease);
  static failure refusal_of(const operation& of, const std::optional<lock_state>& state);
  void look(call_id id);
  store::time_point on_seen(call_id id, const store::inspected& answer);
  void on_latch_seen(call_id id, const std::optional<lock_state>& state);
  void on_barrier_seen(call_id id, const std::optional<lock_state>& state);
  void wait_on(call_id id);
  void end_watch(operation& of);
  void time_is_up(call_id id);
  void end(call_id id, arrived result);

  store::scheduler& time_;
  store::port& port_;
  lease_manager& leases_;
  call_id last_ = 0;
  std::unordered_map<call_id, operation> calls_;
};

}  // namespace holdfast::lease_core
