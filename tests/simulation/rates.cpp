// SPDX-License-Identifier: Apache-2.0
#include "simulation/rates.hpp"

namespace holdfast::sim {

rates::rates(randomness& chance, std::size_t of_servers) {
  const auto within = [&](std::int64_t most) {
    return static_cast<std::int64_t>(chance.below(static_cast<std::uint64_t>(2 * most + 1))) - most;
  };
  const auto kind = chance.below(3);
  for (std::size_t i = 0; i < of_servers; ++i) {
    servers.push_back(kind == 0 ? 0 : within(kind == 1 ? 10'000 : 5'000));
  }
  for (std::int64_t& c : clients) c = kind == 1 ? 0 : within(kind == 0 ? 10'000 : 5'000);
}

}  // namespace holdfast::sim
