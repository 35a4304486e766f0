// SPDX-License-Identifier: Apache-2.0
#include "lease/keeper.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "lease/reports.hpp"

namespace holdfast::lease_core {

using store::time_point;

namespace {

/// Leases in one request: enough for few round trips, and few enough not to hold up other clients at the
/// store.
constexpr std::size_t batch_size = 256;

/// A renewal is sent up to this much early, in one request with others. They stay together from then on.
duration slack(const lease_record& lease) { return lease.ttl() / 24; }

/// A loss is reported this much before the deadline, so that the report arrives by then.
duration lead(const lease_record& lease) {
  return std::min<duration>(lease.margin / 2, std::chrono::milliseconds{1});
}

void nothing_due(lease_record& lease) {
  lease.schedule.due_at = lease.schedule.late_at = time_point::max();
  lease.schedule.is_late = false;
}

}  // namespace

keeper::keeper(store::scheduler& time, store::port& port, on_loss lost)
    : time_{time}, port_{port}, lost_{std::move(lost)} {
  port_.on_session([this] { extend(); });
}

keeper::~keeper() {
  port_.on_session(nullptr);
  time_.cancel(timer_);
  for (const auto& [lease, each] : postponed_) time_.cancel(each.limit);
}

void keeper::add(const lease_record_ptr& lease, const store::granted& grant) {
  lease->schedule.kept = true;
  lease->schedule.is_confirmed = !grant.is_notified;
  lease->schedule.number = ++last_number_;
  confirm(lease, grant.valid_from);
}

void keeper::remove(const lease_record_ptr& lease) {
  if (!lease->schedule.kept) return;
  agenda_.erase(lease);
  lease->schedule.kept = false;
}

void keeper::renew(const lease_record_ptr& lease, std::function<void(renewal)> done) {
  send({lease}, cause::user, std::move(done));
}

void keeper::renew_no_more(const lease_record_ptr& lease) {
  lease->schedule.renews = false;
  nothing_due(*lease);
  if (lease->schedule.kept) plan(lease, time_point::max());
}

void keeper::confirm_end(const lease_record_ptr& lease) {
  if (!lease->schedule.kept || !lease->schedule.confirmation.start()) return;
  send({lease}, cause::notification, [this, lease](renewal) {
    if (lease->schedule.confirmation.finish()) confirm_end(lease);
  });
}

void keeper::confirm_notified() {
  for (const lease_record_ptr& lease : all()) {
    const bool is_under_way = lease->schedule.renew_at == time_point::max();
    if (!lease->schedule.is_confirmed && !is_under_way) plan(lease, time_.now());
  }
}

void keeper::after_renewals(const lease_record_ptr& lease, std::function<void()> then) {
  const time_point now = time_.now();
  if (lease->schedule.renewals_under_way == 0 || lease->deadline() <= now) return then();
  const auto limit = time_.at(now + (lease->deadline() - now) / 2, [this, lease] { run_postponed(lease); });
  postponed_.emplace(lease, postponed{std::move(then), limit});
}

void keeper::run_postponed(const lease_record_ptr& lease) {
  auto found = postponed_.extract(lease);
  if (!found) return;
  time_.cancel(found.mapped().limit);
  found.mapped().action();
}

std::vector<lease_record_ptr> keeper::all() const { return {agenda_.begin(), agenda_.end()}; }

void keeper::confirm(const lease_record_ptr& lease, time_point valid_from) {
  const duration ttl = lease->ttl();
  // Answers may come in another order than their requests went.
  lease->schedule.valid_until =
      std::max(lease->schedule.valid_until, deadline_of(valid_from, ttl, lease->margin));
  bound(lease);
  lease->schedule.pause.reset();
  plan(lease, lease->schedule.renews ? valid_from + ttl / 3 : time_point::max());
}

void keeper::bound(const lease_record_ptr& lease) {
  const auto until = port_.session_until();
  if (!until) return lease->set_deadline(lease->schedule.valid_until);
  const time_point now = time_.now();
  // Nothing more is known of a session that has ended: the lease keeps its deadline.
  const time_point latest = *until > now ? *until : std::min(lease->deadline(), now);
  lease->set_deadline(std::min(lease->schedule.valid_until, latest));
}

/// The session lives longer. A lease whose deadline has passed stays lost.
void keeper::extend() {
  const time_point now = time_.now();
  for (const lease_record_ptr& lease : all()) {
    if (now >= lease->deadline() - lead(*lease)) {
      lost_(lease, deadline_reason(*lease));
    } else {
      bound(lease);
      plan(lease, lease->schedule.renew_at);
    }
  }
}

void keeper::plan(const lease_record_ptr& lease, time_point renew_at) {
  auto place = agenda_.extract(lease);
  lease->schedule.renew_at = renew_at;
  lease->schedule.attention =
      std::min<time_point>({renew_at, lease->deadline() - lead(*lease), lease->schedule.late_at});
  if (place) {
    agenda_.insert(std::move(place));
  } else {
    agenda_.insert(lease);
  }
  if (lease->schedule.attention < armed_) arm();
}

void keeper::arm() {
  if (agenda_.empty()) return;
  const time_point next = (*agenda_.begin())->schedule.attention;
  time_.cancel(timer_);
  timer_ = time_.at(next, [this] { tick(); });
  armed_ = next;
}

void keeper::tick() {
  armed_ = time_point::max();
  const time_point now = time_.now();
  batch due;
  while (!agenda_.empty()) {
    const lease_record_ptr lease = *agenda_.begin();
    if (now >= lease->deadline() - lead(*lease)) {
      lost_(lease, deadline_reason(*lease));  // which removes it
    } else if (now >= lease->schedule.late_at) {
      lease->schedule.late_at = time_point::max();
      lease->schedule.is_late = true;
      report_overdue(journal_, *lease, now);
      plan(lease, lease->schedule.renew_at);
    } else if (lease->schedule.renew_at - slack(*lease) > now) {
      break;
    } else {
      if (lease->schedule.renews && lease->schedule.due_at == time_point::max()) {
        lease->schedule.due_at = lease->schedule.renew_at;
        // That costs a timer. Where nobody listens, lateness is found out with the answer, or at the end.
        if (is_observed()) lease->schedule.late_at = lease->schedule.due_at + lease->renewal_patience();
      }
      plan(lease, time_point::max());  // until the answer is here
      due.push_back(lease);
      if (due.size() == batch_size) send(std::exchange(due, {}), cause::time, nullptr);
    }
  }
  if (!due.empty()) send(std::move(due), cause::time, nullptr);
  arm();
}

void keeper::send(batch leases, cause reason, std::function<void(renewal)> done) {
  std::vector<store::hold> holds;
  holds.reserve(leases.size());
  time_point last_deadline = time_.now();
  for (const lease_record_ptr& lease : leases) {
    holds.push_back(lease->hold);
    last_deadline = std::max(last_deadline, lease->deadline());
  }
  for (const lease_record_ptr& lease : leases) ++lease->schedule.renewals_under_way;
  port_.renew(
      std::move(holds), last_deadline,
      [this, sent = std::move(leases), reason, done = std::move(done)](const store::renewals& answer) {
        for (const lease_record_ptr& lease : sent) --lease->schedule.renewals_under_way;
        for (std::size_t i = 0; i < sent.size(); ++i) {
          const lease_record_ptr& lease = sent[i];
          const renewal outcome = settle(lease, answer.each[i], answer.sent, reason);
          if (done) done(outcome);
          if (lease->schedule.renewals_under_way == 0) run_postponed(lease);
        }
      });
}

renewal keeper::settle(const lease_record_ptr& lease, store::renewed outcome, time_point sent, cause reason) {
  if (!lease->schedule.kept) return renewal::lost;  // released or lost while the answer was under way
  const time_point now = time_.now();
  if (outcome == store::renewed::lost || now >= lease->deadline()) {
    lost_(lease, outcome == store::renewed::lost ? loss_reason::ended_at_store : deadline_reason(*lease));
    return renewal::lost;
  }
  if (outcome == store::renewed::unknown) {
    const bool again = lease->schedule.renews || reason == cause::notification;
    if (again) plan(lease, now + lease->schedule.pause.next(time_.random()));
    return renewal::unknown;
  }
  lease->schedule.is_confirmed = true;
  if (reason == cause::user || (reason == cause::time && lease->schedule.renews)) {
    report_renewed(journal_, *lease, now);
    nothing_due(*lease);
  } else {
    // A confirmation does not replace the planned renewal, whose answer is still due.
    lease->schedule.late_at = time_point::max();
  }
  if (lease->schedule.renews || reason == cause::user) {
    confirm(lease, sent);
  } else {
    plan(lease, time_point::max());
  }
  return renewal::renewed;
}

}  // namespace holdfast::lease_core
