// SPDX-License-Identifier: Apache-2.0
#include "lease/reports.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/metadata.hpp"
#include "lease/refusal.hpp"

namespace holdfast::lease_core {

using events::counter;
using store::time_point;

namespace {

duration between(time_point from, time_point to) {
  return std::max(std::chrono::duration_cast<duration>(to - from), duration{});
}

void describe(const lease_record& lease, event& e) {
  e.name = lease.hold.name;
  e.mode = lease.mode();
  if (e.mode == mode::permits) e.permits = lease.permits;
  e.token = lease.hold.token;
  e.ttl = lease.ttl();
  if (lease.metadata) e.label = from_metadata(*lease.metadata).label;
}

/// The lease has ended. A late renewal that nobody observed, and no answer confirmed, is counted now.
void count_unconfirmed(events::journal& to, const lease_record& lease, time_point now) noexcept {
  if (lease.schedule.is_late || lease.schedule.due_at == time_point::max()) return;
  if (between(lease.schedule.due_at, now) >= lease.renewal_patience()) to.count_alone(counter::late_renewals);
}

}  // namespace

void report_granted(events::journal* to, const lease_record& lease, duration waited) noexcept {
  if (to == nullptr) return;
  to->count_alone(events::grants_of(lease.mode()));
  to->wait.add(waited);
  to->tell(event_kind::granted, [&](event& e) {
    describe(lease, e);
    e.elapsed = waited;
  });
}

void report_unsuccessful(events::journal* to, const store::claim& claim, duration waited,
                         const failure& reason, bool withdrawn) noexcept {
  if (to == nullptr) return;
  const bool is_refused = reason.code == errc::timeout;
  const bool by_user = is_refused || reason.code == errc::cancelled || reason.code == errc::closed;
  const auto [which, kind] = withdrawn && by_user ? std::pair{counter::withdrawn, event_kind::withdrawn}
                             : is_refused         ? std::pair{counter::refused, event_kind::refused}
                                                  : std::pair{counter::failed, event_kind::failed};
  to->count_alone(which);
  to->tell(kind, [&](event& e) {
    events::describe(claim, e);
    e.elapsed = waited;
    e.code = reason.code;
    e.text = is_refused ? "others hold the name" : reason.message;
  });
}

void report_released(events::journal* to, const lease_record& lease, time_point now) noexcept {
  if (to == nullptr) return;
  to->count_alone(counter::released);
  count_unconfirmed(*to, lease, now);
  to->hold.add(between(lease.granted_at, now));
  to->tell(event_kind::released, [&](event& e) {
    describe(lease, e);
    e.elapsed = between(lease.granted_at, now);
  });
}

void report_lost(events::journal* to, const lease_record& lease, time_point now) noexcept {
  if (to == nullptr) return;
  to->count_alone(events::losses_of(lease.loss));
  count_unconfirmed(*to, lease, now);
  to->hold.add(between(lease.granted_at, now));
  to->tell(event_kind::lost, [&](event& e) {
    describe(lease, e);
    e.elapsed = between(lease.granted_at, now);
    e.loss = lease.loss;
    e.code = lease.reason;
    e.text = text_of(lease.loss);
  });
}

void report_overdue(events::journal* to, const lease_record& lease, time_point now) noexcept {
  if (to == nullptr) return;
  to->count_alone(counter::late_renewals);
  to->tell(event_kind::renewal_late, [&](event& e) {
    describe(lease, e);
    e.elapsed = between(lease.schedule.due_at, now);
    e.code = errc::unavailable;
    e.text = "half of the ttl is over, and no renewal is confirmed; check the connection to the store";
  });
}

void report_renewed(events::journal* to, const lease_record& lease, time_point now) noexcept {
  if (to == nullptr) return;
  to->count_alone(counter::renewals);
  if (lease.schedule.due_at == time_point::max()) return;  // its user renewed it
  const duration lateness = between(lease.schedule.due_at, now);
  to->lateness.add(lateness);
  if (lateness < lease.renewal_patience()) return;
  if (!lease.schedule.is_late) to->count_alone(counter::late_renewals);
  to->tell(event_kind::renewal_late, [&](event& e) {
    describe(lease, e);
    e.elapsed = lateness;
    e.text = "a renewal was confirmed late";
  });
}

}  // namespace holdfast::lease_core
