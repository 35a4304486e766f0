// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_set>

#include "base/owner_id.hpp"
#include "simulation/randomness.hpp"

namespace holdfast::sim {

/// The requests to release of a world. Their chance is their own, so that the same seed gives the same world
/// without them.
struct release_requests {
  explicit release_requests(std::uint64_t seed) : chance{~seed} {}

  randomness chance;
  std::unordered_set<owner_id> owners;  // of holds that had a request
};

}  // namespace holdfast::sim
