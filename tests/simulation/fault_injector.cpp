// SPDX-License-Identifier: Apache-2.0
#include "simulation/fault_injector.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

void fault_injector::choose(kind faults, const std::function<bool(kind)>& can_be, std::vector<kind> only) {
  randomness& chance = around_.in.chance;
  kinds_ = std::move(only);
  // Some worlds have all kinds of faults, others few, since one kind may hide what another would show.
  const std::uint64_t density = 1 + chance.below(4);
  while (kinds_.empty()) {
    for (kind i = 0; i < faults; ++i) {
      if (i >= client_faults && !can_be(i)) continue;
      if (chance.below(4) < density) kinds_.push_back(i);
    }
  }
  constexpr auto paces = std::to_array<duration>({200ms, 500ms, 1s, 3s});
  every_ = paces.at(chance.below(paces.size()));
}

bool fault_injector::pass() {
  next();
  if (!around_.in.run_until(until_)) return false;
  heal_servers();
  for (client& c : clients_) {
    if (c.lives() && c.at.is_paused()) c.at.resume();
    c.way.heal();
  }
  return true;
}

void fault_injector::next() {
  const duration pause = around_.in.chance.between(0ms, every_ * 2);
  if (around_.in.now + pause >= until_) return;
  around_.in.after(pause, [this] {
    strike(kinds_[around_.in.chance.below(kinds_.size())]);
    next();
  });
}

/// No fault lasts longer than the time of faults.
duration fault_injector::up_to(duration most) {
  const auto left = std::chrono::duration_cast<duration>(until_ - around_.in.now);
  return std::min(left, around_.in.chance.between(1ms, most));
}

void fault_injector::strike(kind fault_kind) {
  client& c = clients_[around_.in.chance.below(clients_.size())];
  const std::size_t server = pick_server();
  around_.in.note("fault", fault_kind, c.at.number(), server);
  if (fault_kind >= client_faults) return strike_servers(fault_kind, c, server);
  strike_client(static_cast<client_fault>(fault_kind), c, way_of(c, server));
}

void fault_injector::strike_client(client_fault fault, client& c, line& way) {
  scene& in = around_.in;
  switch (fault) {
    case client_fault::cut: return way.cut();
    case client_fault::half_open: {
      const std::uint64_t which = 1 + in.chance.below(3);
      return way.go_half_open((which & 1U) != 0, (which & 2U) != 0, in.now + up_to(5s));
    }
    case client_fault::stall: return way.stall_until(in.now + up_to(3s));
    case client_fault::pause: return pause(c);
    case client_fault::kill: return kill(c);
  }
}

/// As often as not with a renewal under way, whose answer then waits beside the timers of its lease.
void fault_injector::pause(client& c) {
  if (!c.lives() || c.at.is_paused()) return;
  if (around_.in.chance.one_in(2)) return pause_now(c);
  c.at.strike_after_renewal([this, &c] {
    if (around_.in.now < until_) pause_now(c);
  });
}

void fault_injector::pause_now(client& c) {
  if (!c.lives() || c.at.is_paused()) return;
  c.at.pause(around_.with == mutant::clock_stops_in_suspend);
  around_.in.after(up_to(5s), [this, &c, life = c.at.life()] {
    if (c.at.life() != life || !c.at.is_paused()) return;
    around_.in.note("resumes", c.at.number());
    c.at.resume();
  });
}

void fault_injector::kill(client& c) {
  if (!c.lives()) return;
  c.kill();
  around_.in.after(up_to(2s), [&c] { c.start(); });
}

}  // namespace holdfast::sim
