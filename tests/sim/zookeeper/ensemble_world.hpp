#pragma once

#include <cstdint>

#include "sim/world.hpp"

namespace holdfast::sim {

/// As `run`, of clients of an ensemble of ZooKeeper.
[[nodiscard]] outcome run_on_ensemble(std::uint64_t seed, const circumstances& under);

}  // namespace holdfast::sim
