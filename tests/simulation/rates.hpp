// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulation/randomness.hpp"

namespace holdfast::sim {

/// How far clocks run fast or slow, in millionths: within the drift margin, on one side or on both.
struct rates {
  static constexpr std::size_t most_clients = 5;

  rates(randomness& chance, std::size_t of_servers);

  std::vector<std::int64_t> servers;
  std::array<std::int64_t, most_clients> clients{};
};

}  // namespace holdfast::sim
