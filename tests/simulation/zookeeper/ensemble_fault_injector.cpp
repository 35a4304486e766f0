// SPDX-License-Identifier: Apache-2.0
#include "simulation/zookeeper/ensemble_fault_injector.hpp"

#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

ensemble_fault_injector::ensemble_fault_injector(surroundings& around, ensemble& servers,
                                                 std::deque<client>& clients, instant until)
    : fault_injector{around, clients, until}, servers_{servers} {
  choose(faults, [](kind /*which*/) { return true; });
}

void ensemble_fault_injector::disturb(duration how_long) {
  around_.server.disturb_until(around_.in.now + how_long + 2s);
}

std::size_t ensemble_fault_injector::pick_server() { return around_.in.chance.below(servers_.size()); }

void ensemble_fault_injector::strike_servers(kind fault_kind, client& c, std::size_t server) {
  scene& in = around_.in;
  switch (static_cast<fault>(fault_kind)) {
    case fault::server_stop: {
      const duration length = up_to(in.chance.one_in(4) ? 4s : 300ms);
      disturb(length);
      return servers_.stop(server, in.now + length);
    }
    case fault::server_crash: {
      const duration length = up_to(2s);
      disturb(length + 1s);
      return servers_.crash(server, length);
    }
    case fault::restart_of_all: {
      const duration length = up_to(2s);
      disturb(length + 1s);
      return servers_.crash_all(length);
    }
    case fault::leader_change: disturb(1s); return servers_.change_leader();
    case fault::partition: {
      const duration length = up_to(5s);
      disturb(length);
      return servers_.hold_back(server, true, true, in.now + length);
    }
    case fault::one_way: {
      const duration length = up_to(4s);
      c.at.disturb_until(in.now + length);
      return servers_.hold_back(c.way, in.now + length);
    }
    case fault::lag: {
      const duration length = up_to(in.chance.one_in(2) ? 300ms : 3s);
      disturb(length);
      return servers_.hold_back(server, false, true, in.now + length);
    }
    case fault::force_release: return c.force_release(in.chance.below(names));
    case fault::node_removed: return remove_a_node();
    case fault::empty_swept: return servers_.sweep();
    case fault::wall_clock_step:
      return servers_.step_wall_clock(server, in.chance.between(0ms, 10s) - duration{5s});
    case fault::former_leader: {
      const duration length = up_to(in.chance.one_in(2) ? 8s : 1s);
      disturb(length);
      c.at.disturb_until(in.now + length);
      return servers_.depose(c.way, in.now + length);
    }
  }
}

/// Any node of a claim, whoever made it, and whether it holds or waits.
void ensemble_fault_injector::remove_a_node() {
  const std::vector<std::string> all =
      servers_.decided().paths_of([](const std::string&, const znode& n) { return n.session != 0; });
  if (all.empty()) return;
  const std::string& path = all[around_.in.chance.below(all.size())];
  static_cast<void>(servers_.propose({.kind = zookeeper::operation_kind::remove, .path = path}, 0));
}

}  // namespace holdfast::sim
