// SPDX-License-Identifier: Apache-2.0
#include "simulation/quorum/quorum_fault_injector.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

quorum_fault_injector::quorum_fault_injector(surroundings& around, quorum_store& store, quorum_ledger& all,
                                             std::deque<client>& clients, instant until, powers has,
                                             std::vector<kind> only)
    : fault_injector{around, clients, until},
      store_{store},
      all_{all},
      has_{has},
      knows_all_from_(store.nodes().size()) {
  choose(faults, [](kind of) { return of != static_cast<kind>(fault::clock_step); }, std::move(only));
}

void quorum_fault_injector::disturb(duration length) {
  around_.server.disturb_until(around_.in.now + length + 2s);
}

void quorum_fault_injector::strike_servers(kind fault_kind, client& c, std::size_t server) {
  scene& in = around_.in;
  quorum_store::node& at = store_.nodes().at(server);
  switch (static_cast<fault>(fault_kind)) {
    case fault::server_stop: {
      const duration length = up_to(in.chance.one_in(4) ? 4s : 300ms);
      disturb(length);
      return at.at.stop_until(in.now + length);
    }
    case fault::restart_whole: return go_down(server, memory::all, up_to(1500ms));
    case fault::restart_empty:
      if (may_forget(server)) go_down(server, memory::nothing, up_to(1500ms));
      return;
    case fault::restart_older:
      at.server.remember();
      return in.after(up_to(1s), [this, server] {
        if (may_forget(server)) go_down(server, memory::older, up_to(1500ms));
      });
    case fault::holds_ended: return c.force_release(in.chance.below(around_.names_used));
    case fault::refusals: {
      const duration length = up_to(in.chance.one_in(4) ? 4s : 300ms);
      disturb(length);
      at.at.disturb_until(in.now + length);
      return at.server.refuse_until(in.now + length);
    }
    case fault::clock_step: return set_clock(server);
  }
}

/// Clocks of a minority are set back. A server whose clock is set forward ends what it has granted, and a
/// lock that a bare majority had is not safe any more: so that breaks conditions. There the clocks of a
/// majority are set together, since servers whose clocks differ by more than a second accept no common token.
void quorum_fault_injector::set_clock(std::size_t server) {
  scene& in = around_.in;
  const std::size_t minority = store_.nodes().size() / 2;
  const duration by = has_.sets_all_clocks ? in.chance.between(0ms, 6s) : -in.chance.between(0ms, 2s);
  if (!has_.sets_all_clocks && server >= minority) return;
  disturb(longest_ttl);
  for (std::size_t i = 0; i < store_.nodes().size(); ++i) {
    if (has_.sets_all_clocks ? i > minority : i != server) continue;
    store_.nodes()[i].at.wall.step(in.now, by);
    store_.nodes()[i].at.disturb_until(in.now);
  }
  if (has_.breaks_conditions) all_.broken(std::nullopt);
}

/// Two servers that forget a hold within the time in which it may be believed make a majority of three.
bool quorum_fault_injector::may_forget(std::size_t server) const {
  if (has_.forgets_all) return true;
  std::size_t forgetting = 1;
  for (std::size_t i = 0; i < knows_all_from_.size(); ++i)
    if (i != server && knows_all_from_[i] > around_.in.now) ++forgetting;
  return forgetting <= knows_all_from_.size() / 2;
}

void quorum_fault_injector::go_down(std::size_t server, memory keeps, duration down) {
  scene& in = around_.in;
  quorum_store::node& at = store_.nodes().at(server);
  if (at.at.is_down()) return;
  disturb(down + store_.guard());
  at.at.go_down();
  at.server.restart();
  for (auto& [client, ways] : store_.ways()) {
    line& way = ways.at(server);
    if (in.chance.one_in(4)) {
      way.go_half_open(true, true, in.now + up_to(3s));  // its computer is gone, and says nothing
    } else {
      way.cut();
    }
  }
  if (keeps != memory::all) knows_all_from_.at(server) = in.now + down + store_.guard() + longest_ttl + 1s;
  in.after(down, [this, &at, server, keeps] {
    if (keeps == memory::nothing) at.server.forget();
    if (keeps == memory::older) at.server.fall_back();
    if (keeps != memory::all) {
      all_.forgot_all_at(server, !has_.breaks_conditions);
      all_.forgot_grants(!has_.breaks_conditions);
    }
    at.at.come_up();
    around_.in.note("server is back", server, static_cast<int>(keeps));
  });
}

}  // namespace holdfast::sim
