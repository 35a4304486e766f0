// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/options.hpp"

namespace holdfast::sim {

/// All chance of one world, from its seed (splitmix64, S. Vigna). A standard distribution would not do: each
/// library has its own, and a seed has to mean the same everywhere.
class randomness {
 public:
  explicit randomness(std::uint64_t seed) : state_{seed} {}

  [[nodiscard]] std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return bits() % n; }
  [[nodiscard]] bool one_in(std::uint64_t n) { return below(n) == 0; }
  [[nodiscard]] duration between(duration least, duration most) {
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + duration{static_cast<std::int64_t>(below(span))};
  }

 private:
  std::uint64_t state_;
};

}  // namespace holdfast::sim
