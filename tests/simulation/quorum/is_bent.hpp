#pragma once

#include "simulation/mutant.hpp"

namespace holdfast::sim {

/// The mutant that the copy of stores/quorum/protocol has in this run: see BentProtocol.cmake.
[[nodiscard]] inline mutant& bent_with() {
  static mutant with = mutant::none;
  return with;
}
[[nodiscard]] inline bool is_bent(mutant by) { return bent_with() == by; }

}  // namespace holdfast::sim
