// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/journal.hpp"
#include "core/port.hpp"
#include "core/scheduler.hpp"
#include "holdfast/lease.hpp"
#include "lease/lease_record.hpp"

namespace holdfast::lease_core {

/// Keeps the leases of one client: renews them before their deadlines, many in one request. A timer that
/// depends on no reply declares a lease lost at its deadline.
///
/// A lease is renewed at a third of its ttl, and again and again until its deadline when no answer comes.
/// Only a confirmed renewal that arrives before the deadline moves it, so an expired hold never comes back.
/// Called under the core lock.
class keeper {
 public:
  using on_loss = std::function<void(const lease_record_ptr&, loss_reason)>;

  /// \param lost called under the core lock for each lease at its deadline, or when the store denies it.
  keeper(store::scheduler& time, store::port& port, on_loss lost);
  ~keeper();
  /// Where renewals are counted, and late ones told. It must outlive the keeper.
  void report_to(events::journal& journal) { journal_ = &journal; }
  keeper(const keeper&) = delete;
  keeper& operator=(const keeper&) = delete;

  void add(const lease_record_ptr& lease, const store::granted& grant);
  /// Sends nothing for the lease from now on, and ignores answers in flight.
  void remove(const lease_record_ptr& lease);
  /// Renews one lease now, whether or not it renews by itself.
  void renew(const lease_record_ptr& lease, std::function<void(renewal)> done);
  /// Does not renew it by itself from now on.
  void renew_no_more(const lease_record_ptr& lease);
  /// A notification says that this lease was ended: renews the lease at once to find out. At most one such
  /// request is in flight and at most one more follows it, however many notifications come. The deadline of a
  /// lease that does not renew by itself stays where it is.
  void confirm_end(const lease_record_ptr& lease);
  /// Notifications may have been lost: renews at once what a notification has granted, and no answer has
  /// confirmed since.
  void confirm_notified();
  /// Runs `then` once no renewal of the lease is under way, as a store may carry out requests in another
  /// order than they were sent in: at once, or with the answer to the last one. It is not waited for beyond
  /// the middle of what is left to the lease's deadline, since `then` needs a hold. One lease has one such
  /// function.
  void after_renewals(const lease_record_ptr& lease, std::function<void()> then);

  /// All leases that are kept now.
  [[nodiscard]] std::vector<lease_record_ptr> all() const;

 private:
  using batch = std::vector<lease_record_ptr>;
  /// By the time of the next look. Leases that are due at one moment are ordered by their numbers. By
  /// address, the order would differ from run to run.
  struct sooner {
    bool operator()(const lease_record_ptr& a, const lease_record_ptr& b) const {
      const auto& one = a->schedule;
      const auto& other = b->schedule;
      return one.attention != other.attention ? one.attention < other.attention : one.number < other.number;
    }
  };

  [[nodiscard]] bool is_observed() const noexcept { return journal_ != nullptr && journal_->is_observed(); }
  void tick();
  void arm();
  /// The reason of a renewal.
  enum class cause : std::uint8_t { time, user, notification };
  void send(batch leases, cause reason, std::function<void(renewal)> done);
  void run_postponed(const lease_record_ptr& lease);
  renewal settle(const lease_record_ptr& lease, store::renewed outcome, store::time_point sent, cause reason);
  /// The store keeps the lease for one more ttl, counted from `valid_from`.
  void confirm(const lease_record_ptr& lease, store::time_point valid_from);
  /// The deadline: the end of its own ttl, or of the session that it lives with, whichever comes first.
  void bound(const lease_record_ptr& lease);
  void extend();
  /// Decides when to look at the lease next.
  void plan(const lease_record_ptr& lease, store::time_point renew_at);

  /// What waits for the answers to renewals.
  struct postponed {
    std::function<void()> action;
    store::scheduler::timer limit;
  };

  store::scheduler& time_;
  store::port& port_;
  on_loss lost_;
  events::journal* journal_ = nullptr;
  std::set<lease_record_ptr, sooner> agenda_;  // while a lease is there, its `attention` does not change
  std::map<lease_record_ptr, postponed> postponed_;
  std::uint64_t last_number_ = 0;
  store::scheduler::timer timer_ = 0;
  store::time_point armed_ = store::time_point::max();
};

}  // namespace holdfast::lease_core
