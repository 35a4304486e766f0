// SPDX-License-Identifier: Apache-2.0
#include "simulation/server_fault_injector.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "simulation/transactions.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

server_fault_injector::server_fault_injector(surroundings& around, std::deque<client>& clients, instant until,
                                             std::vector<kind> only)
    : fault_injector{around, clients, until} {
  choose(faults, [this](kind which) { return can_be(static_cast<fault>(which)); }, std::move(only));
}

bool server_fault_injector::can_be(fault which) const {
  switch (which) {
    // That mutant's tokens begin anew wherever a name is forgotten: that sweeps do it has to show by itself.
    case fault::restart_some:
    case fault::restart_empty:
    case fault::failover: return around_.with != mutant::token_not_floored;
    case fault::refusals: return around_.store.is_a_server();
    case fault::replicas_late: return around_.store.has_replicas();
    case fault::lock_waits:
    case fault::broken_commits: return around_.store.has_transactions();
    case fault::partition: return around_.store.has_former_primaries();
    default: return true;
  }
}

void server_fault_injector::strike_servers(kind number, client& c, std::size_t /*server*/) {
  scene& in = around_.in;
  const auto cause = static_cast<fault>(number);
  switch (cause) {
    case fault::server_stop:
      return around_.server.stop_until(in.now + up_to(in.chance.one_in(4) ? 4s : 300ms));
    case fault::restart_whole:
    case fault::restart_some: return crash(cause, up_to(1500ms));
    case fault::restart_empty: {
      const duration down = up_to(1500ms);
      if (crashing_) return;
      return around_.store.empties_without_restart ? empty() : go_down(cause, down);
    }
    case fault::failover: return crash(cause, up_to(100ms));
    case fault::partition: return crash(cause, up_to(in.chance.one_in(2) ? 1500ms : 6s));
    case fault::holds_ended: return end_holds(c);
    case fault::lease_clock_step: return step(in.chance.between(0ms, 3s) - duration{1s});
    case fault::wall_clock_step: {
      const duration by = in.chance.between(0ms, 10s) - duration{5s};
      if (around_.server.ends_by_wall_clock) return step(by);
      return around_.server.wall.step(in.now, by);
    }
    case fault::refusals: {
      const instant until = in.now + up_to(in.chance.one_in(4) ? 4s : 300ms);
      around_.server.disturb_until(until);
      return around_.store.refuse_until(until);
    }
    case fault::replicas_late: {
      const instant until = in.now + up_to(2s);
      around_.server.disturb_until(until + 1s);
      return around_.store.hold_back_replicas_until(until);
    }
    case fault::lock_waits: {
      const instant until = in.now + up_to(2s);
      around_.server.disturb_until(until + transaction_faults::longest_wait);
      return around_.store.contend_until(until);
    }
    case fault::broken_commits: {
      const instant until = in.now + up_to(1s);
      around_.server.disturb_until(until);
      return around_.store.break_off_until(until);
    }
  }
}

/// Sets the clock that ends claims.
void server_fault_injector::step(duration by) {
  const bool back = by < duration{0};
  // A step back makes claims live longer: by the end of the faults that has to be over.
  if (back && (!around_.store.clock_goes_back() || around_.in.now + 20s >= until_)) return;
  site& s = around_.server;
  (s.ends_by_wall_clock ? s.wall : s.boot).step(around_.in.now, by);
  if (back) {
    around_.account.clock_went_back(around_.store.claims(), -by);
  } else {
    around_.account.broken(std::nullopt, parted_until_);
  }
}

/// Nobody is told. A guard begins with the next question at most, and not for all: those who do not know of
/// it may grant tokens that are ahead of the clock, which another flush would forget.
void server_fault_injector::empty() {
  if (around_.server.is_down() || around_.in.now < no_flush_before_) return;
  no_flush_before_ = around_.in.now + 2 * around_.store.guard();
  around_.account.forgot_grants(false, parted_until_);
  around_.store.forget();
  around_.account.changed(around_.store.claims(), true);
}

/// Ends a hold, as somebody does who may; or lets the store throw away what it likes, where stores do that.
void server_fault_injector::end_holds(client& c) {
  if (around_.in.chance.one_in(2)) return c.force_release(around_.in.chance.below(names));
  if (around_.server.is_down()) return;
  if (const auto name = around_.store.evict()) around_.account.evicted(*name);
}

void server_fault_injector::crash(fault cause, duration down) {
  if (crashing_) return;
  if (cause == fault::restart_whole) return go_down(cause, down);
  crashing_ = true;
  if (cause == fault::failover || cause == fault::partition) {
    around_.store.remember_as_replica();
  } else {
    around_.store.remember();
  }
  around_.in.after(up_to(300ms), [this, cause, down] {
    crashing_ = false;
    const auto left = std::chrono::duration_cast<duration>(until_ - around_.in.now);
    if (cause == fault::partition) return part(std::min(down, left));
    go_down(cause, std::min(down, left));
  });
}

/// The Sentinels and the replica do not see the primary, which lives, and some clients do.
void server_fault_injector::part(duration length) {
  crashing_ = true;
  parted_until_ = around_.in.now + length;
  around_.server.disturb_until(parted_until_ + 1s);
  if (around_.store.replicas() > 0) around_.sees.master_fails();
  around_.account.forgot_grants(around_.store.promote_beside(), parted_until_);
  const auto there = around_.store.claims();
  around_.account.changed(there, true);
  if (around_.store.replicas() > 0) around_.sees.replica_takes_over(there);
  for (client& c : clients_) {
    if (around_.in.chance.one_in(2)) c.way.cut();
  }
  around_.in.after(length, [this] {
    crashing_ = false;
    around_.in.note("former primary is demoted");
    around_.store.demote_former();
    // A connection that is idle for so long outlives another promotion.
    if (around_.in.chance.one_in(2)) {
      around_.in.after(around_.in.chance.between(1100ms, 2s), [this] {
        if (around_.in.now < until_) crash(fault::failover, up_to(100ms));
      });
    }
  });
}

void server_fault_injector::go_down(fault cause, duration down) {
  crashing_ = true;
  const bool forgets = cause != fault::restart_whole;
  if (cause == fault::failover && around_.store.replicas() > 0) around_.sees.master_fails();
  around_.server.go_down();
  std::vector<client*> cut_off;
  for (client& c : clients_) {
    if (cause != fault::failover || !around_.store.leads_to_next(c.way)) cut_off.push_back(&c);
  }
  if (cause == fault::failover) {
    around_.store.fail_over();
  } else {
    around_.store.restart();
  }
  if (forgets) around_.account.forgot_grants(around_.store.guard() > duration{0});
  for (client* const c : cut_off) {
    if (around_.in.chance.one_in(4)) {
      c->way.go_half_open(true, true, around_.in.now + up_to(3s));  // its computer is gone, and says nothing
    } else {
      c->way.cut();
    }
  }
  around_.in.after(down, [this, cause, forgets] {
    crashing_ = false;
    if (cause == fault::restart_empty) around_.store.forget();
    if (cause == fault::restart_some || cause == fault::failover) around_.store.fall_back();
    if (forgets) {
      const auto there = around_.store.claims();
      around_.account.changed(there, true);
      if (cause == fault::failover) around_.sees.replica_takes_over(there);
    }
    around_.server.come_up();
    around_.in.note("server is back", static_cast<std::uint64_t>(cause));
  });
}

void server_fault_injector::heal_servers() { around_.store.heal(); }

}  // namespace holdfast::sim
