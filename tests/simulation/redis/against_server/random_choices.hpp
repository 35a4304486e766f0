// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::sim {

/// The same numbers for the same seed, whatever the standard library (splitmix64; Steele, Lea and Flood,
/// 2014).
class random_choices {
 public:
  explicit random_choices(std::uint64_t seed) : state_{seed} {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  /// One of a container's.
  template <class Container>
  const auto& of(const Container& all) {
    return all[below(all.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace holdfast::sim
