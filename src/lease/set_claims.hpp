#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/backoff.hpp"
#include "core/scheduler.hpp"
#include "lease/lease_manager.hpp"

namespace holdfast::lease_core {

/// Why a set of names was not acquired: which of them failed, and how.
struct set_failure {
  /// The place of its wish; empty where the claim was cancelled, or the client closed before it began.
  std::optional<std::size_t> name;
  failure reason;
};
/// The leases, in the order of the wishes; or the reason why there are none.
using set_taken = std::variant<std::vector<lease_record_ptr>, not_had, set_failure>;

/// The claims of one client for several names at once, all or none.
///
/// A set first tries all of its names, in requests that follow one another without waiting for replies. Where
/// one is not free, the set waits for it in its queue. Meanwhile it holds the names before that one, and none
/// of those after it. So whoever waits holds only smaller names than the one that it waits for, and no ring
/// of waiting sets can close (Havender 1968: resources are requested in one order). A name that is lost
/// meanwhile is acquired anew. A try that fails because the store cannot serve now counts as refused, where
/// the set waits. With no name after it, the last one is waited for at once.
///
/// What a waiting set holds is renewed, also for users who renew themselves: they get whole ttls in the end.
///
/// Called under the core lock; handlers are called under it, too.
class set_claims {
 public:
  using set_id = std::uint64_t;

  set_claims(store::scheduler& time, lease_manager& leases) : time_{time}, leases_{leases} {}
  ~set_claims();
  set_claims(const set_claims&) = delete;
  set_claims& operator=(const set_claims&) = delete;

  /// \param wishes sorted by their names, each name once. Those that do not wait are tried once.
  /// \param limit end of the wait, for answers and in queues; empty: no limit.
  set_id acquire(std::vector<wish> wishes, std::optional<store::time_point> limit,
                 std::function<void(set_taken)> done);
  /// Ends a set's claim with errc::cancelled: what it holds is released, what it waits for is withdrawn. No
  /// effect once it is answered.
  void cancel(set_id id);
  /// A lease of this client has been lost; its set, if it belongs to one that waits, goes back to its name.
  void lost(lease_record& lease);
  /// Ends the claims of all sets with errc::closed. Before the leases are closed: a set that waits for its
  /// last renewals would take their loss for a reason to acquire them anew.
  void close();

 private:
  struct set {
    std::vector<wish> wishes;
    std::optional<store::time_point> limit;
    std::function<void(set_taken)> done;
    std::vector<lease_record_ptr> held;  // null: not held
    std::vector<lease_manager::claim_id> claims;
    bool is_fixed = false;               // the user renews the leases
    bool has_waited = false;             // while it held others
    std::size_t answers_due = 0;         // of a round of tries, or of the last renewals
    std::optional<std::size_t> waiting;  // in the queue of that name
    store::time_point tried_at;          // the beginning of the last round
    std::optional<set_failure> failed;   // of a round: the first that does not pass, or else the first
    bool refused = false;                // in a round: others hold a name
    int vain_rounds = 0;                 // one after the other, at whose end a name had been lost
    bool is_unsure = false;              // a last renewal was not confirmed
    store::scheduler::timer next_look = 0;
    store::scheduler::timer last_moment = 0;   // for the last renewals
    store::scheduler::timer next_renewal = 0;  // where one was not confirmed
    store::backoff pause{retry_policy{}};      // before that
  };

  /// Of a name.
  enum class absence : std::uint8_t { not_granted, lost };

  template <class Step>
  void run(set_id id, Step step);
  void try_from(set_id id, std::size_t first);
  void on_tried(set_id id, std::size_t name, taken result);
  void go_on(set_id id);
  void wait_for(set_id id, std::size_t name);
  void conclude(set_id id);
  void on_renewed(set_id id, renewal outcome);
  void hand_over(set_id id);
  void on_waited(set_id id, std::size_t name, taken result);
  void look_again(set_id id);
  void keep(set_id id, std::size_t name, lease_record_ptr lease);
  void give_back(set& of, std::size_t from);
  void finish(set_id id, set_taken result);
  [[nodiscard]] std::optional<std::pair<std::size_t, absence>> first_missing(set& of);

  store::scheduler& time_;
  lease_manager& leases_;
  set_id last_ = 0;
  std::unordered_map<set_id, set> sets_;
  std::unordered_map<const lease_record*, set_id> set_of_;  // of those that sets hold while they go on
};

}  // namespace holdfast::lease_core
