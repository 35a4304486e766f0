#pragma once

#include <string_view>

#include "simulation/world.hpp"

namespace holdfast::sim {

/// Plays one of the scenarios by which locks over several servers are known, always in the same way.
/// \throws std::invalid_argument there is none of that name.
[[nodiscard]] outcome run_scenario(std::string_view name, const circumstances& under);

}  // namespace holdfast::sim
