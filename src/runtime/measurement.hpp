// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace holdfast::runtime {

/// By how much a server's wall clock is ahead of this host's, as far as the way there and back tells.
/// \param ask returns the server's time since the epoch.
template <class Ask>
[[nodiscard]] std::chrono::microseconds clock_ahead(Ask ask) {
  using std::chrono::microseconds;
  const auto now = [] {
    return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch());
  };
  const microseconds before = now();
  constexpr microseconds latest = std::chrono::hours{24} * 365 * 10'000;  // a server may say anything
  const microseconds there = std::clamp(ask(), microseconds{}, latest);
  const microseconds after = now();
  if (there < before) return there - before;
  return there > after ? there - after : microseconds{};
}

}  // namespace holdfast::runtime
