#pragma once

#include <cstdint>

#include "simulation/world.hpp"

namespace holdfast::sim {

/// As `run`, of clients of several independent servers of Redis.
[[nodiscard]] outcome run_on_quorum(std::uint64_t seed, const circumstances& under);

}  // namespace holdfast::sim
