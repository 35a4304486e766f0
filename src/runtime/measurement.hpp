#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

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

/// The median of some round trips. \param ask makes one.
template <class Ask>
[[nodiscard]] std::chrono::microseconds round_trip(Ask ask) {
  constexpr std::size_t count = 5;
  std::array<std::chrono::microseconds, count> times{};
  for (auto& each : times) {
    const auto before = std::chrono::steady_clock::now();
    ask();
    each = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - before);
  }
  std::nth_element(times.begin(), times.begin() + count / 2, times.end());
  return times[count / 2];
}

}  // namespace holdfast::runtime
