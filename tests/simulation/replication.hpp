// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "simulation/scene.hpp"

namespace holdfast::sim {

/// The replicas of a server, as far as WAIT tells of them: when they will have acknowledged what is written
/// now.
class replication {
 public:
  void begin(std::int64_t replicas) {
    replicas_ = replicas;
    held_back_until_ = held_back_since_ = {};
  }
  /// The way to them is stopped up until then. One that takes over then has nothing of what was written
  /// meanwhile.
  void hold_back_until(instant now, instant when) {
    if (held_back_until_ <= now) held_back_since_ = now;
    held_back_until_ = std::max(held_back_until_, when);
  }
  void catch_up() { held_back_until_ = {}; }

  struct acknowledged {
    std::int64_t by = 0;
    instant at{};
  };
  /// WAIT: the answer, and when it is given.
  /// \param written when that was written which has to be acknowledged; empty: nothing was.
  [[nodiscard]] acknowledged wait(scene& in, std::int64_t wanted, duration limit,
                                  std::optional<instant> written) const {
    const bool old = !written || (*written < held_back_since_ && in.now < held_back_until_);
    if (old && wanted <= replicas_) return {replicas_, in.now};
    const instant until = in.now + limit;
    const duration trip = in.chance.between(std::chrono::microseconds{200}, std::chrono::milliseconds{5});
    if (wanted > replicas_ || held_back_until_ == never) return {0, until};
    const instant there = std::max(in.now, held_back_until_) + trip;
    if (there > until) return {0, until};
    return {replicas_, there};
  }

 private:
  std::int64_t replicas_ = 0;
  instant held_back_since_{};
  instant held_back_until_{};
};

}  // namespace holdfast::sim
