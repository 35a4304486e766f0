#include "sim/chaos.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

chaos::chaos(surroundings& around, std::deque<client>& clients, instant until, std::vector<fault> only)
    : around_{around}, clients_{clients}, until_{until}, kinds_{std::move(only)} {
  randomness& chance = around_.in.chance;
  // Some worlds have all kinds of faults, others few, since one kind may hide what another would show.
  const std::uint64_t density = 1 + chance.below(4);
  while (kinds_.empty()) {
    for (std::size_t i = 0; i < faults; ++i) {
      const auto kind = static_cast<fault>(i);
      // That mutant evicts others: nobody else may, or it could not be told apart.
      if (kind == fault::eviction && around_.with == mutant::get_then_delete) continue;
      if (chance.below(4) < density) kinds_.push_back(kind);
    }
  }
  constexpr auto paces = std::to_array<duration>({200ms, 500ms, 1s, 3s});
  every_ = paces.at(chance.below(paces.size()));
}

void chaos::begin() { next(); }

void chaos::next() {
  const duration pause = around_.in.chance.between(0ms, every_ * 2);
  if (around_.in.now + pause >= until_) return;
  around_.in.after(pause, [this] {
    strike(kinds_[around_.in.chance.below(kinds_.size())]);
    next();
  });
}

/// Nothing lasts longer than the bad weather.
duration chaos::up_to(duration most) {
  const auto left = std::chrono::duration_cast<duration>(until_ - around_.in.now);
  return std::min(left, around_.in.chance.between(1ms, most));
}

void chaos::strike(fault what) {
  scene& in = around_.in;
  client& c = clients_[in.chance.below(clients_.size())];
  in.note("fault", static_cast<std::uint64_t>(what), c.at.number());
  switch (what) {
    case fault::cut: return c.way.cut();
    case fault::half_open: {
      const std::uint64_t which = 1 + in.chance.below(3);
      return c.way.go_half_open((which & 1U) != 0, (which & 2U) != 0, in.now + up_to(5s));
    }
    case fault::stall: return c.way.stall_until(in.now + up_to(3s));
    case fault::pause: return pause(c);
    case fault::kill: return kill(c);
    case fault::server_stop:
      return around_.server.stop_until(in.now + up_to(in.chance.one_in(4) ? 4s : 300ms));
    case fault::restart_whole: return crash(false, 0ms, up_to(1500ms));
    case fault::restart_some: return crash(true, up_to(300ms), up_to(1500ms));
    case fault::restart_empty:
      if (!crashing_) go_down(false, true, up_to(1500ms));
      return;
    case fault::failover: return crash(true, up_to(300ms), up_to(100ms));
    case fault::eviction: return evict(c);
    case fault::lease_clock_step: return step(in.chance.between(0ms, 3s) - duration{1s});
    case fault::wall_clock_step: {
      const duration by = in.chance.between(0ms, 10s) - duration{5s};
      if (around_.server.ends_by_wall_clock) return step(by);
      return around_.server.wall.step(in.now, by);
    }
  }
}

/// Sets the clock that ends claims.
void chaos::step(duration by) {
  const bool back = by < duration{0};
  // A step back makes claims live longer: by the end of the weather that has to be over.
  if (back && (!around_.store.clock_goes_back() || around_.in.now + 20s >= until_)) return;
  site& s = around_.server;
  (s.ends_by_wall_clock ? s.wall : s.boot).step(around_.in.now, by);
  if (back) {
    around_.account.clock_went_back(around_.store.claims(), -by);
  } else {
    around_.account.broken(std::nullopt);
  }
}

/// Ends a hold, as somebody does who may; or lets the store throw away what it likes, where stores do that.
void chaos::evict(client& c) {
  if (around_.in.chance.one_in(2)) return c.force_release(around_.in.chance.below(names));
  if (around_.server.is_down()) return;
  if (const auto name = around_.store.evict()) around_.account.evicted(*name);
}

void chaos::pause(client& c) {
  if (!c.lives() || c.at.is_paused()) return;
  c.at.pause(around_.with == mutant::clock_stops_in_suspend);
  around_.in.after(up_to(5s), [this, &c, life = c.at.life()] {
    if (c.at.life() != life || !c.at.is_paused()) return;
    around_.in.note("resumes", c.at.number());
    c.at.resume();
  });
}

void chaos::kill(client& c) {
  if (!c.lives()) return;
  c.kill();
  around_.in.after(up_to(2s), [&c] { c.start(); });
}

void chaos::crash(bool loses, duration behind, duration down) {
  if (crashing_) return;
  if (!loses) return go_down(false, false, down);
  crashing_ = true;
  around_.store.remember();
  around_.in.after(behind, [this, down] {
    crashing_ = false;
    go_down(true, false,
            std::min<duration>(down, std::chrono::duration_cast<duration>(until_ - around_.in.now)));
  });
}

void chaos::go_down(bool fall_back, bool forget, duration down) {
  crashing_ = true;
  around_.server.go_down();
  around_.store.restart();
  if (fall_back || forget) around_.account.broken(std::nullopt);
  for (client& c : clients_) {
    if (around_.in.chance.one_in(4)) {
      c.way.go_half_open(true, true, around_.in.now + up_to(3s));  // its machine is gone, and says nothing
    } else {
      c.way.cut();
    }
  }
  around_.in.after(down, [this, fall_back, forget] {
    crashing_ = false;
    if (fall_back) around_.store.fall_back();
    if (forget) around_.store.forget();
    if (fall_back || forget) around_.account.changed(around_.store.claims(), true);
    around_.server.come_up();
    around_.in.note("server is back", fall_back ? 1 : 0, forget ? 1 : 0);
  });
}

void chaos::heal() {
  around_.store.heal();
  for (client& c : clients_) {
    if (c.lives() && c.at.is_paused()) c.at.resume();
    c.way.heal();
  }
}

}  // namespace holdfast::sim
