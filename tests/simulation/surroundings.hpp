#pragma once

#include <cstddef>
#include <cstdint>

#include "simulation/change_hints.hpp"
#include "simulation/election_watch.hpp"
#include "simulation/ledger.hpp"
#include "simulation/mutant.hpp"
#include "simulation/release_requests.hpp"
#include "simulation/rendezvous_watch.hpp"
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
  duration reply_limit{};                    // of links, for an answer
  std::uint64_t operations = 0;              // that users have begun
  bool second_is_mutex = false;              // one that has no readers
  std::size_t names_used = contended_names;  // the store has that many of them
  bool has_sets = false;                     // each client has one that locks several names at once
  bool has_rests = true;                     // the store keeps a claim that has lost its client
  bool shows_rests = false;  // the witness is told of least times; else the ledger checks them
  /// Each client has one that campaigns, in the place of another user. Null: there is no election.
  election_watch* elections = nullptr;
  /// Each client has some that use a latch and a barrier, in the place of another user. Null: there are none.
  rendezvous_watch* meetings = nullptr;
  change_hints* hints = nullptr;  // where there are meetings
  /// Each client has one that asks holders to release. Null: nobody does.
  release_requests* requests = nullptr;

  /// How many names somebody may end the holds of.
  [[nodiscard]] std::size_t names_in_use() const { return meetings == nullptr ? contended_names : names; }
};

}  // namespace holdfast::sim
