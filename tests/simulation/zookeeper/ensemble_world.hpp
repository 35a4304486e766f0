#pragma once

#include <cstdint>

#include "simulation/world.hpp"

namespace holdfast::sim {

/// As `run`, of clients of an ensemble of ZooKeeper.
[[nodiscard]] outcome run_on_ensemble(std::uint64_t seed, const circumstances& under);

}  // namespace holdfast::sim
