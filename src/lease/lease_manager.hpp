#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <variant>

#include "core/journal.hpp"
#include "core/port.hpp"
#include "core/scheduler.hpp"
#include "lease/keeper.hpp"
#include "lease/lease_record.hpp"

namespace holdfast::lease_core {

/// A claim to acquire, and the terms of its lease.
struct wish {
  store::claim claim;
  duration margin{};
  bool renews = true;
  duration at_least{};                            // the name stays locked from its grant
  std::optional<store::time_point> first_sent{};  // first, where it is made again
};

/// Keeps, for a claim that may be made again, what its events need of its grant.
void remember(wish& request, const store::granted& grant);

/// Another client holds the lock, and the wait limit is over.
struct not_had {};
using taken = std::variant<lease_record_ptr, not_had, failure>;

/// The claims and leases of one client: claims with their limits, cancellation and withdrawal, leases from
/// grant to release or loss. Called under the core lock; handlers are called under it too, and the caller
/// runs user code after its release.
class lease_manager {
 public:
  using claim_id = std::uint64_t;
  /// Called once for each lost lease, under the core lock; the record has its reason by then. The handler
  /// reports the loss to the user, and calls `after_loss` then.
  using on_loss = std::function<void(const lease_record_ptr&)>;

  lease_manager(store::scheduler& time, store::port& port, on_loss lost);
  ~lease_manager();
  /// Sets the handler that is called, under the core lock, when a lease is asked to be released for the first
  /// time; the record has the reason by then.
  void on_release_requested(std::function<void(const lease_record_ptr&)> handler) {
    release_requested_ = std::move(handler);
  }
  /// Where the ends of claims and leases are counted and told. Once, before the first claim; it must outlive
  /// the lease manager.
  void report_to(events::journal& journal) {
    journal_ = &journal;
    keeper_.report_to(journal);
  }
  lease_manager(const lease_manager&) = delete;
  lease_manager& operator=(const lease_manager&) = delete;

  /// \param limit end of the wait in the queue; empty: no limit.
  claim_id acquire(wish request, std::optional<store::time_point> limit, std::function<void(taken)> done);
  /// Ends the claim with errc::cancelled, and withdraws it at the store. No effect once it is answered.
  void cancel(claim_id id);

  /// Releases the lease: at once for this process, in the background at the store.
  /// \param done may be empty; gets errc::lost when the lease had ended before.
  void release(const lease_record_ptr& lease, std::function<void(std::error_code)> done);
  void renew(const lease_record_ptr& lease, std::function<void(renewal)> done);
  /// Leaves all further renewals to the user.
  void renew_no_more(const lease_record_ptr& lease) { keeper_.renew_no_more(lease); }
  void downgrade(const lease_record_ptr& lease, std::function<void(std::optional<failure>)> done);
  /// Replaces the metadata of an exclusive hold.
  void annotate(const lease_record_ptr& lease, std::shared_ptr<const std::string> metadata,
                std::function<void(std::optional<failure>)> done);
  /// Declares the loss now if the deadline has passed; for calls that come before the keeper's timer.
  void check(const lease_record_ptr& lease);

  /// The loss has been reported to the user: releases what may be left of the lease at the store.
  void after_loss(const lease_record_ptr& lease);

  /// Ends every claim and lease with errc::closed. Releases and withdrawals go on in the background; see
  /// port::when_idle.
  void close();

 private:
  struct pending {
    owner_id owner;
    std::function<void(taken)> done;
    store::scheduler::timer limit = 0;
    int too_late = 0;  // grants that arrived after their deadline
    /// The grant arrived, but it is not known whether the session still lives.
    lease_record_ptr doubtful;
    bool release_requested = false;  // meanwhile: a notification to look into when the lease begins
    store::time_point doubted_until;
    store::scheduler::timer next_proof = 0;
    std::unique_ptr<const store::claim> claim;  // where events are observed
    store::time_point began;                    // likewise
    bool is_withdrawn = false;
  };

  void start(claim_id id, wish request, std::optional<store::time_point> limit);
  void ask(claim_id id, wish request);
  void ask_again(claim_id id, wish request, const store::granted& late);
  void ask_anew(claim_id id, wish request);
  void on_acquired(claim_id id, const wish& request, store::acquired result);
  void on_granted(claim_id id, const wish& request, const store::granted& grant);
  void give_up_grant(claim_id id, const store::claim& claim, fencing_token token,
                     const std::exception& reason);
  /// \param first_sent when the claim was first sent.
  void begin(claim_id id, const lease_record_ptr& lease, store::time_point valid_from,
             store::time_point first_sent, store::time_point now);
  void doubt(claim_id id, const wish& request, const store::granted& grant, const lease_record_ptr& lease);
  void wait_for_proof(claim_id id, const wish& request);
  void on_proof(claim_id id, const wish& request, const store::renewals& answer);
  void judge(claim_id id, const wish& request, const lease_record_ptr& lease, const store::renewals& answer);
  void give_up_doubtful(claim_id id, const wish& request);
  void finish(claim_id id, taken result);
  void time_is_up(claim_id id);
  void abandon(claim_id id, taken result);
  void withdraw(claim_id id);
  void keep_request(const owner_id& owner);
  void look_for_request(const owner_id& owner);
  void take_request(const lease_record_ptr& lease, const lock_state& from);
  void lose(const lease_record_ptr& lease, loss_reason reason);
  void check_at(const lease_record_ptr& lease, store::time_point now);
  void let_go(const lease_record_ptr& lease, store::time_point now);
  void report_end(const pending& claim, const taken& result);
  void end(const lease_record_ptr& lease, std::function<void(store::released)> done);
  void rest(const lease_record_ptr& lease, store::time_point until,
            std::function<void(store::released)> done);
  [[nodiscard]] store::time_point ended_by(const lease_record_ptr& lease) const;
  void give_back(const lease_record_ptr& lease, std::function<void(store::released)> done);

  store::scheduler& time_;
  store::port& port_;
  on_loss lost_;
  std::function<void(const lease_record_ptr&)> release_requested_;
  events::journal* journal_ = nullptr;
  keeper keeper_;
  claim_id last_ = 0;
  std::unordered_map<claim_id, pending> pending_;
  std::unordered_map<owner_id, std::weak_ptr<lease_record>> by_owner_;
};

}  // namespace holdfast::lease_core
