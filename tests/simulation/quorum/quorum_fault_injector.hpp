// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "simulation/fault_injector.hpp"
#include "simulation/quorum/quorum_store.hpp"

namespace holdfast::sim {

/// What goes wrong with several independent servers.
class quorum_fault_injector final : public fault_injector {
 public:
  enum class fault : kind {
    server_stop = client_faults,
    restart_whole,  // keeping all
    restart_empty,  // keeping nothing; of fewer than a majority within a guard and a ttl
    holds_ended,    // by somebody who may
    refusals,       // the server answers with errors
    clock_step,     // clocks are set; of a minority, always the same, if conditions are kept
    restart_older,  // without its last writes; likewise of fewer than a majority
  };
  static constexpr kind faults = 12;
  /// What may be done to a majority as well.
  struct powers {
    bool forgets_all = false;  // several servers forget within a guard
    bool sets_all_clocks = false;
    bool breaks_conditions = false;  // and that is no fault of the store
  };

  quorum_fault_injector(surroundings& around, quorum_store& store, quorum_ledger& all,
                        std::deque<client>& clients, instant until, powers has, std::vector<kind> only);

 private:
  [[nodiscard]] std::size_t pick_server() override { return around_.in.chance.below(store_.nodes().size()); }
  [[nodiscard]] line& way_of(client& c, std::size_t server) override { return store_.way(c.at, server); }
  void strike_servers(kind fault_kind, client& c, std::size_t server) override;
  void heal_servers() override { store_.heal(); }
  void disturb(duration length);
  /// What a server has when it is back.
  enum class memory : std::uint8_t { all, nothing, older };
  void go_down(std::size_t server, memory keeps, duration down);
  void set_clock(std::size_t server);
  [[nodiscard]] bool may_forget(std::size_t server) const;

  quorum_store& store_;
  quorum_ledger& all_;
  powers has_;
  std::vector<instant> knows_all_from_;  // each server, again
};

}  // namespace holdfast::sim
