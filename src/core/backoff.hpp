// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "holdfast/options.hpp"

namespace holdfast::store {

/// The delays between tries: they double from first to longest, and each is drawn from the upper half of
/// its step, so that clients that failed together do not return together.
class backoff {
 public:
  backoff(duration first, duration longest) : first_{first}, longest_{longest}, step_{first} {}
  explicit backoff(const retry_policy& policy) : backoff{policy.first(), policy.longest()} {}

  /// \param random any 64 random bits.
  [[nodiscard]] duration next(std::uint64_t random) {
    const duration step = step_;
    step_ = std::min(longest_, step_ * 2);
    const auto half = static_cast<std::uint64_t>(step.count() / 2);
    return duration{step.count() - static_cast<std::int64_t>(random % (half + 1))};
  }
  /// After a success.
  void reset() { step_ = first_; }

 private:
  duration first_;
  duration longest_;
  duration step_;
};

}  // namespace holdfast::store
