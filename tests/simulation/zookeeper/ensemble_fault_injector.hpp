// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "simulation/fault_injector.hpp"
#include "simulation/zookeeper/ensemble.hpp"

namespace holdfast::sim {

/// What goes wrong in a world with an ensemble of ZooKeeper.
class ensemble_fault_injector final : public fault_injector {
 public:
  enum class fault : kind {
    server_stop = client_faults,
    server_crash,  // keeping all, as all do
    restart_of_all,
    leader_change,
    partition,      // of a follower from the leader
    one_way,        // what a client sends waits, and it hears of others all the same
    lag,            // what the leader tells a follower comes late
    force_release,  // a hold is ended by somebody who may
    node_removed,   // by an operator
    empty_swept,
    wall_clock_step,
    former_leader,  // goes on after another was elected, and a client reaches it alone
  };
  static constexpr kind faults = 17;

  ensemble_fault_injector(surroundings& around, ensemble& servers, std::deque<client>& clients,
                          instant until);

 private:
  [[nodiscard]] std::size_t pick_server() override;
  void strike_servers(kind fault_kind, client& c, std::size_t server) override;
  /// What is wrong with them ends by then, by itself.
  void heal_servers() override {}
  void remove_a_node();
  /// Nothing is promised to be quick until some time after.
  void disturb(duration how_long);

  ensemble& servers_;
};

}  // namespace holdfast::sim
