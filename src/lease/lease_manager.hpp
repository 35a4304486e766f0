#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <variant>

#include "core/port.hpp"
#include "core/scheduler.hpp"
#include "lease/keeper.hpp"
#include "lease/record.hpp"

namespace holdfast::lease_core {

/// What somebody wants to hold, and on what terms.
struct wish {
  store::claim claim;
  duration margin{};
  bool renews = true;
};

/// The claim is held by another, and the limit for waiting is over.
struct not_had {};
using taken = std::variant<record_ptr, not_had, failure>;

/// Everything that one client holds, waits for and still has to give back: claims with their limits,
/// cancellation and withdrawal, leases from grant to release or loss. Called under the core lock; handlers
/// are called under it too, and the caller runs user code after its release.
class lease_manager {
 public:
  using claim_id = std::uint64_t;
  /// Told of each loss, once, under the core lock; the record has its reason by then. Whoever hears it passes
  /// it on to the user, and calls `after_loss` then.
  using on_loss = std::function<void(const record_ptr&)>;

  lease_manager(store::scheduler& time, store::port& port, on_loss lost);
  ~lease_manager();
  lease_manager(const lease_manager&) = delete;
  lease_manager& operator=(const lease_manager&) = delete;

  /// \param limit until when to wait in the queue; empty: as long as it takes.
  claim_id acquire(wish what, std::optional<store::time_point> limit, std::function<void(taken)> done);
  /// The claim, unless it is answered already, ends with errc::cancelled, and is withdrawn at the store.
  void cancel(claim_id which);

  /// Gives back: at once for this process, in the background at the store.
  /// \param done may be empty; errc::lost when the lease had ended before.
  void release(const record_ptr& lease, std::function<void(std::error_code)> done);
  void renew(const record_ptr& lease, std::function<void(renewal)> done);
  void downgrade(const record_ptr& lease, std::function<void(std::optional<failure>)> done);
  /// Declares the loss now if the deadline has passed, for those who come before the keeper's timer.
  void check(const record_ptr& lease);

  /// The user of a lost lease has been told: what may be left of it at the store may go to others now.
  void after_loss(const record_ptr& lease);

  /// Ends every claim and lease with errc::closed. What has to be given back goes on in the background; ask
  /// the port when it is idle.
  void close();

 private:
  struct pending {
    owner_id owner;
    std::function<void(taken)> done;
    store::scheduler::timer limit = 0;
    int too_late = 0;  // grants that could not be believed any more
    /// Granted, but whether the session that it lives with lives is not known now.
    record_ptr doubtful;
    store::time_point doubted_until;
    store::scheduler::timer next_proof = 0;
  };

  void ask(claim_id id, wish what);
  void ask_again(claim_id id, wish what);
  void ask_anew(claim_id id, wish what);
  void on_acquired(claim_id id, const wish& what, store::acquired result);
  void begin(claim_id id, const record_ptr& lease, store::time_point valid_from);
  void doubt(claim_id id, const wish& what, const record_ptr& lease);
  void wait_for_proof(claim_id id, const wish& what);
  void on_proof(claim_id id, const wish& what, const store::renewals& answer);
  void finish(claim_id id, taken result);
  void time_is_up(claim_id id);
  void abandon(claim_id id, taken result);
  void lose(const record_ptr& lease, loss_reason reason);
  void give_back(const record_ptr& lease, std::function<void(store::released)> done);

  store::scheduler& time_;
  store::port& port_;
  on_loss lost_;
  keeper keeper_;
  claim_id last_ = 0;
  std::unordered_map<claim_id, pending> pending_;
  std::unordered_map<owner_id, std::weak_ptr<record>> by_owner_;
};

}  // namespace holdfast::lease_core
