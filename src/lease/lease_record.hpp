// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/backoff.hpp"
#include "core/claim.hpp"
#include "core/single_flight.hpp"
#include "holdfast/lease.hpp"

namespace holdfast::detail {

/// The client of leases, which they may outlive.
struct lease_client {
  std::weak_ptr<void> core;      // only the layer above knows its type
  std::uint32_t generation = 0;  // the process in which it was opened
  std::string store;             // its URL, without secrets
};

/// One lease, shared by the user's handle and the keeper. Members that any thread may read without the core
/// lock are atomic or never change; the lock protects the rest.
class lease_record {
 public:
  enum class phase : std::uint8_t { held, releasing, lost };

  lease_record(const store::claim& granted, fencing_token token)
      : hold{granted.name, granted.owner, token, store_ttl(granted)},
        permits{granted.permits},
        margin{granted.margin},
        grace{granted.grace},
        at_least{granted.at_least},
        schedule{granted.renews, between_renewals(granted.retry, hold.ttl)},
        mode_{granted.mode} {}

  [[nodiscard]] store::time_point deadline() const noexcept {
    return store::time_point{std::chrono::nanoseconds{deadline_.load(std::memory_order_acquire)}};
  }
  [[nodiscard]] phase state() const noexcept { return phase_.load(std::memory_order_acquire); }
  [[nodiscard]] bool held_at(store::time_point now) const noexcept {
    return state() == phase::held && now < deadline();
  }
  [[nodiscard]] holdfast::mode mode() const noexcept { return mode_.load(std::memory_order_relaxed); }
  /// For how long a confirmation is believed. The store keeps the hold for the grace longer.
  [[nodiscard]] duration ttl() const noexcept { return hold.ttl - grace; }
  /// Until when the name stays locked after a release.
  [[nodiscard]] store::time_point rests_until() const noexcept { return granted_at + at_least; }
  /// A renewal that is overdue for so long is late: half of the ttl is over then.
  [[nodiscard]] duration renewal_patience() const noexcept { return ttl() / 6; }

  // Under the core lock:
  void set_deadline(store::time_point when) noexcept {
    deadline_.store(when.time_since_epoch().count(), std::memory_order_release);
  }
  void set_state(phase p) noexcept { phase_.store(p, std::memory_order_release); }
  void set_mode(holdfast::mode mode) noexcept { mode_.store(mode, std::memory_order_relaxed); }

  std::shared_ptr<const lease_client> client;

  const store::hold hold;
  const std::int64_t permits;
  const duration margin;
  const duration grace;     // how long the name rests after a loss
  const duration at_least;  // how long the name stays locked from `granted_at`
  store::time_point granted_at;
  /// Null unless the name may stay locked after a release, or events are observed.
  std::shared_ptr<const std::string> metadata;
  std::stop_source lost;  // requested once, without the core lock
  /// The signals of a lease_set, which its users listen to.
  struct set_signals {
    std::stop_source lost;
    std::stop_source release_requested;
  };
  /// The lease belongs to these sets, or belonged to them before they became part of another. They are
  /// signalled after the lease itself.
  std::vector<set_signals> of_sets;
  /// Somebody who is called when the lease is lost.
  struct listener {
    std::uint64_t id;  // by which its user refers to it
    bool is_wait;      // an operation that waits for the end of the lease, also for its release
    std::function<void(std::error_code)> action;
  };
  std::vector<listener> on_lost;
  std::error_code reason;                          // of the loss
  loss_reason loss = loss_reason::ended_at_store;  // any thread may read it once state() is lost

  /// The reason of the first request to release; null: nobody has asked.
  std::unique_ptr<const std::string> release_request;
  /// Requested after a request to release, without the core lock; made for the first who listens.
  std::stop_source release_requested{std::nostopstate};
  store::single_flight inspection;  // after a notification of such a request

  bool may_be_exclusive = false;  // shared: it is not known whether the store has downgraded it
  bool is_unused = false;         // it was never handed to its user, and its name need not rest

  /// When it is renewed, and looked at. The keeper's.
  struct schedule {
    bool renews;  // by the keeper, without the user
    store::backoff pause;
    bool kept = false;
    bool is_confirmed = false;            // an answer of the store has granted it, or renewed it
    std::uint64_t number = 0;             // in the order in which leases are added
    store::single_flight confirmation{};  // after a notification of its end
    int renewals_under_way = 0;
    store::time_point valid_until{};  // by its own ttl, without regard to its session
    store::time_point attention{};    // when to look at it next
    store::time_point renew_at{};     // time_point::max(): no automatic renewal, or a renewal in flight
    store::time_point due_at = store::time_point::max();   // of the renewal that is not confirmed yet
    store::time_point late_at = store::time_point::max();  // when that is to be reported as late: observed
    bool is_late = false;                                  // it has been, and is counted
  } schedule;

 private:
  /// Renewals go out several times in a ttl, and at least once a second, while no answer comes: for so long
  /// two may hold after a hold was ended at the store. A user's policy may be slower.
  [[nodiscard]] static store::backoff between_renewals(const retry_policy& policy, duration ttl) {
    const duration longest = std::min<duration>(std::chrono::seconds{1}, ttl / 10);
    return {std::min(policy.first(), longest), std::min(policy.longest(), longest)};
  }

  std::atomic<std::chrono::nanoseconds::rep> deadline_ = 0;
  std::atomic<phase> phase_ = phase::held;
  std::atomic<holdfast::mode> mode_;
};

}  // namespace holdfast::detail

namespace holdfast::lease_core {

using detail::lease_record;
using lease_record_ptr = std::shared_ptr<lease_record>;

/// The deadline of a lease. It counts from the sending of the request, because the store starts to count
/// later. The margin allows for clocks that run at different rates (Redlock's "clock drift").
[[nodiscard]] constexpr store::time_point deadline_of(store::time_point sent, duration ttl, duration margin) {
  return sent + ttl - margin;
}

/// Why a lease ends at its deadline: its own ttl was not renewed, or its session ended before that.
[[nodiscard]] inline loss_reason deadline_reason(const lease_record& lease) noexcept {
  return lease.deadline() < lease.schedule.valid_until ? loss_reason::session_ended
                                                       : loss_reason::not_renewed;
}

}  // namespace holdfast::lease_core
