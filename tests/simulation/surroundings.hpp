// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "lease/lease_manager.hpp"
#include "simulation/election_watch.hpp"
#include "simulation/ledger.hpp"
#include "simulation/mutant.hpp"
#include "simulation/release_requests.hpp"
#include "simulation/scene.hpp"
#include "simulation/simulated_store.hpp"
#include "simulation/site.hpp"
#include "simulation/witness.hpp"

namespace holdfast::sim {

/// What a client finds in its world.
struct surroundings {
  scene& in;
  site& server;
  ledger& account;
  witness& sees;
  simulated_store& store;
  mutant with = mutant::none;
  duration reply_limit{};          // of links, for an answer
  std::uint64_t operations = 0;    // that users have begun
  bool second_is_mutex = false;    // one that has no readers
  std::size_t names_used = names;  // the store has that many of them
  bool has_sets = false;           // each client has one that locks several names at once
  bool has_rests = true;           // the store keeps a claim that has lost its client
  /// Each client has one that campaigns, in the place of another user. Null: there is no election.
  election_watch* elections = nullptr;
  /// Each client has one that asks holders to release. Null: nobody does.
  release_requests* requests = nullptr;
};

/// How a claim has ended, for the trace: 0 with its leases, 1 refused, 2 with another failure.
template <class Value>
[[nodiscard]] std::uint64_t kind_of(const store::answer<Value>& end) {
  const auto* const reason = std::get_if<failure>(&end);
  if (reason == nullptr) return 0;
  return lease_core::is_refusal(*reason) ? 1 : 2;
}

}  // namespace holdfast::sim
