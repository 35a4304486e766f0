// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

#include "holdfast/export.hpp"  // IWYU pragma: keep (it asks for C++20)

namespace holdfast {

/// The clock of deadlines: CLOCK_BOOTTIME, which goes on while the machine sleeps and which nobody sets. Its
/// time points mean nothing on another machine or after a restart of this one.
struct boot_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boot_clock>;
  static constexpr bool is_steady = true;  ///< it never goes back
  /// The time since the machine started.
  [[nodiscard]] static time_point now() noexcept {
    std::timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
  }
};

}  // namespace holdfast
