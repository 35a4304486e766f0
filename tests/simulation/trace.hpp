// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulation/clock.hpp"

namespace holdfast::sim {

/// What happened in a world, as one number: two runs of a seed have to agree on it. On request also as lines
/// for people, which cost a hundred times as much.
///
/// Owner ids stay out of it: the lease manager draws some of them from the kernel.
class trace {
 public:
  explicit trace(bool prints) : prints_{prints} {}

  /// \param what a literal.
  void note(instant when, std::string_view event, std::uint64_t a = 0, std::uint64_t b = 0,
            std::uint64_t c = 0);
  /// For lines that nobody but people need: whether to make them.
  [[nodiscard]] bool prints() const { return prints_; }
  void line(instant when, const std::string& text) const;
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  void mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15U, hash_ ^= hash_ >> 29U; }

  bool prints_;
  std::uint64_t hash_ = 0x243F6A8885A308D3U;
};

}  // namespace holdfast::sim
