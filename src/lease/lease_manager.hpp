// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/journal.hpp"
#include "core/port.hpp"
#include "core/scheduler.hpp"
#include "lease/keeper.hpp"
#include "lease/lease_record.hpp"
#include "lease/operations.hpp"

namespace holdfast::lease_core {

/// How a claim ends. Its failure has the code errc::timeout if others hold the name, and the claim does not
/// wait, or not any longer.
using taken = store::answer<lease_record_ptr>;

/// Whether a claim failed because others hold the name.
[[nodiscard]] inline bool is_refusal(const failure& reason) { return reason.code == errc::timeout; }

/// The claims and leases of one client: claims with their limits, cancellation and withdrawal, leases from
/// grant to release or loss. Called under the core lock; handlers are called under it too, and the caller
/// runs user code after its release.
class lease_manager {
 public:
  /// Called once for each lost lease, under the core lock; the record has its reason by then. The handler
  /// reports the loss to the user, and calls `after_loss` then.
  using on_loss = std::function<void(const lease_record_ptr&)>;

  /// \param all the operations of the client, among which its claims are.
  lease_manager(store::scheduler& time, store::port& port, operations& all, on_loss lost);
  lease_manager(const lease_manager&) = delete;
  lease_manager& operator=(const lease_manager&) = delete;
  /// The client of all leases. Once, before the first claim.
  void belong_to(detail::lease_client client) {
    client_ = std::make_shared<const detail::lease_client>(std::move(client));
  }
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

  /// See port::together.
  void together(const std::function<void()>& begin) { port_.together(begin); }
  /// \param limit end of the wait in the queue; empty: no limit.
  /// \return an operation. Cancelling it withdraws the claim at the store.
  op_id acquire(store::claim_ptr claim, std::optional<store::time_point> limit, store::handler<taken> done);

  /// Releases the lease: at once for this process, in the background at the store.
  /// \param done may be empty; gets errc::lost when the lease had ended before.
  void release(const lease_record_ptr& lease, store::handler<std::error_code> done);
  void renew(const lease_record_ptr& lease, store::handler<renewal> done);
  /// Leaves all further renewals to the user.
  void renew_no_more(const lease_record_ptr& lease) { keeper_.renew_no_more(lease); }
  void downgrade(const lease_record_ptr& lease, store::handler<std::optional<failure>> done);
  /// Replaces the metadata of an exclusive hold.
  void annotate(const lease_record_ptr& lease, std::shared_ptr<const std::string> metadata,
                store::handler<std::optional<failure>> done);
  /// Declares the loss now if the deadline has passed; for calls that come before the keeper's timer.
  void check(const lease_record_ptr& lease);

  /// The loss has been reported to the user: releases what may be left of the lease at the store.
  void after_loss(const lease_record_ptr& lease);

  /// Ends every lease with errc::closed; claims have been closed before. Releases go on in the background;
  /// see port::when_idle.
  void close();

 private:
  class claiming;

  [[nodiscard]] bool is_observed() const noexcept { return journal_ != nullptr && journal_->is_observed(); }
  [[nodiscard]] lease_record_ptr find(const owner_id& owner) const;
  [[nodiscard]] lease_record_ptr begin(const store::claim& claim, const store::granted& grant,
                                       store::time_point began);
  void check(const lease_record_ptr& lease, store::time_point now);
  void look_for_request(const owner_id& owner);
  void take_request(const lease_record_ptr& lease, const lock_state& from);
  void lose(const lease_record_ptr& lease, loss_reason reason);
  void forget(const lease_record_ptr& lease);
  void end_for_user(const lease_record_ptr& lease, store::time_point now,
                    store::handler<store::released>&& done);
  void end_at(const lease_record_ptr& lease, store::time_point until, store::time_point now,
              store::handler<store::released>&& done);

  store::scheduler& time_;
  store::port& port_;
  operations& operations_;
  on_loss lost_;
  std::shared_ptr<const detail::lease_client> client_;
  std::function<void(const lease_record_ptr&)> release_requested_;
  events::journal* journal_ = nullptr;
  keeper keeper_;
  std::unordered_map<owner_id, std::weak_ptr<lease_record>> by_owner_;
};

}  // namespace holdfast::lease_core
