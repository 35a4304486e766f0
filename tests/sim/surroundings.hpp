#pragma once

#include <cstdint>

#include "sim/ledger.hpp"
#include "sim/mutant.hpp"
#include "sim/scene.hpp"
#include "sim/simulated_store.hpp"
#include "sim/site.hpp"
#include "sim/witness.hpp"

namespace holdfast::sim {

/// What a client finds in its world.
struct surroundings {
  scene& in;
  site& server;
  ledger& account;
  witness& sees;
  simulated_store& store;
  mutant with = mutant::none;
  duration patience{};           // of links, for an answer
  std::uint64_t operations = 0;  // that users have begun
  bool second_is_mutex = false;  // one that has no readers
};

}  // namespace holdfast::sim
