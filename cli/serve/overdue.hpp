// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include <holdfast/options.hpp>

namespace holdfast::cli {

/// A store whose last answer is older than this is down. Of a large store a reading takes long, and so does
/// the pause after it.
/// \param interval between two readings. \param reading_time of the last one that succeeded.
[[nodiscard]] constexpr duration overdue_after(duration interval, duration reading_time) {
  return std::max<duration>({std::chrono::seconds{5}, 3 * interval, 3 * reading_time});
}

}  // namespace holdfast::cli
