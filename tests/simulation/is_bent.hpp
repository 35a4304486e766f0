// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/mutant.hpp"

namespace holdfast {

namespace sim {

/// The mutant that the copies of sources have in this run: see BentCopy.cmake.
[[nodiscard]] inline mutant& bent_with() {
  static mutant with = mutant::none;
  return with;
}
[[nodiscard]] inline bool is_bent(mutant by) { return bent_with() == by; }

}  // namespace sim

// For the copies, each of which is in another namespace.
using sim::is_bent;
using sim::mutant;

}  // namespace holdfast
