#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/chaos.hpp"
#include "sim/mutant.hpp"
#include "sim/simulated_store.hpp"

namespace holdfast::sim {

/// What a seed came to.
struct outcome {
  std::string violation;  // empty: everything held
  std::uint64_t hash = 0;
  std::uint64_t operations = 0;
  std::uint64_t requests = 0;  // that the store carried out
  std::uint64_t grants = 0;
  std::uint64_t excused_overlaps = 0;
  std::uint64_t stale_refused = 0;
  std::uint64_t events = 0;
};

struct circumstances {
  mutant with = mutant::none;
  bool prints = false;
  std::vector<chaos::fault> only;  // empty: as the seed wants it
};

/// A minute of a few clients, their users, a server and bad weather; then fair weather, in which everybody
/// has to get what he waits for; then all close, and nothing may be left.
[[nodiscard]] outcome run(simulated_store& store, std::uint64_t seed, const circumstances& under);

}  // namespace holdfast::sim
