// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include <holdfast/lease.hpp>

namespace holdfast::cli {

/// When a command must be asked to end, and when it must be dead.
struct lease_plan {
  boot_clock::time_point term_at;
  boot_clock::time_point kill_at;
};

/// How long a command has between SIGTERM and SIGKILL: a sixth of the ttl, at most 10 s. Renewals begin
/// at a third of the ttl, so by then at least half of it has passed without an answer of the store.
[[nodiscard]] constexpr boot_clock::duration kill_delay_of(duration ttl) {
  return std::min<boot_clock::duration>(ttl / 6, std::chrono::seconds{10});
}

/// For a lease that is renewed until `deadline` so far; `lost_at` when the store has said that it is gone.
/// Each renewal moves the plan. SIGKILL comes a little before the deadline, because processes take a
/// moment to die.
[[nodiscard]] constexpr lease_plan plan_for(boot_clock::time_point deadline, duration ttl,
                                            std::optional<boot_clock::time_point> lost_at) {
  using namespace std::chrono_literals;
  const auto margin = std::clamp<boot_clock::duration>(ttl / 20, 5ms, 250ms);
  const auto latest = deadline - margin;
  if (lost_at) return {*lost_at, std::min(*lost_at + kill_delay_of(ttl), latest)};
  return {deadline - kill_delay_of(ttl), latest};
}

}  // namespace holdfast::cli
