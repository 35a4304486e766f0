// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "simulation/mutant.hpp"
#include "simulation/outcome.hpp"
#include "simulation/server_fault_injector.hpp"
#include "simulation/simulated_store.hpp"

namespace holdfast::sim {

struct circumstances {
  mutant with = mutant::none;
  bool prints = false;
  /// In a third of the worlds somebody sends false notifications.
  bool has_false_notifications = false;
  /// Several servers: what breaks the store's conditions befalls a majority, which has no guard.
  bool breaks_conditions = false;
  /// There is an election in every world, and not in one of eight.
  bool has_elections = false;
  std::vector<fault_injector::kind> only;  // empty: as the seed wants it
};

/// Whether the world of that seed has an election. Of those with a mutant none has, unless it is told to:
/// some are found in one world of thousands.
[[nodiscard]] inline bool has_election(std::uint64_t seed, const circumstances& under) {
  return under.has_elections || (seed % 8 == 1 && under.only.empty() && under.with == mutant::none);
}

/// Whether holders are asked to release in the world of that seed.
[[nodiscard]] inline bool has_requests(std::uint64_t seed, const circumstances& under) {
  switch (under.with) {
    case mutant::request_moves_end:
    case mutant::request_unheard:
    case mutant::request_to_next_holder:
    case mutant::request_overwrites_data: return true;
    default: break;
  }
  return seed % 8 == 5 && under.only.empty() && under.with == mutant::none;
}

/// A minute of a few clients, their users, a server and faults; then no faults, and everybody
/// has to get what he waits for; then all close, and nothing may be left.
[[nodiscard]] outcome run(simulated_store& store, std::uint64_t seed, const circumstances& under);
/// The same with several independent servers of Redis.
[[nodiscard]] outcome run_on_quorum(std::uint64_t seed, const circumstances& under);
/// The same with an ensemble of ZooKeeper.
[[nodiscard]] outcome run_on_ensemble(std::uint64_t seed, const circumstances& under);
/// Plays one of the scenarios of quorum/quorum_scenarios.cpp, always in the same way.
/// \throws std::invalid_argument there is none of that name.
[[nodiscard]] outcome run_scenario(std::string_view name, const circumstances& under);

}  // namespace holdfast::sim
