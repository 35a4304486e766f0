// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <holdfast/boot_clock.hpp>

namespace holdfast::test {

/// Measures how late this machine wakes a thread. A bound of time in a test adds this lateness, so that it
/// fails for what Holdfast does and not for what the machine does.
class stall_meter {
 public:
  using time_point = boot_clock::time_point;
  using duration = boot_clock::duration;

  stall_meter() = default;
  stall_meter(const stall_meter&) = delete;
  stall_meter& operator=(const stall_meter&) = delete;

  /// The worst lateness of all wake-ups since that moment, the one that is due now included.
  [[nodiscard]] duration worst_since(time_point since) const {
    const std::lock_guard guard{mutex_};
    const auto first =
        std::find_if(falling_.begin(), falling_.end(), [&](const wake_up& each) { return each.at >= since; });
    const duration under_way = std::max(boot_clock::now() - due_, duration::zero());
    return first == falling_.end() ? under_way : std::max(first->late, under_way);
  }
  /// What a limit becomes where threads have to wait for a core. Four times: an event goes through several
  /// threads.
  [[nodiscard]] duration stretched(duration limit, time_point since) const {
    return limit + 4 * worst_since(since);
  }

 private:
  struct wake_up {
    time_point at;
    duration late;
  };
  static constexpr std::chrono::milliseconds pause{10};

  void measure(const std::stop_token& end) {
    std::condition_variable_any never;
    std::unique_lock held{mutex_};
    while (!end.stop_requested()) {
      due_ = boot_clock::now() + pause;
      never.wait_for(held, end, pause, [] { return false; });
      const auto now = boot_clock::now();
      const auto late = now - due_;
      // Only what is later than all that came after it can be the worst since some moment.
      while (!falling_.empty() && falling_.back().late <= late) falling_.pop_back();
      falling_.push_back({now, late});
    }
  }

  mutable std::mutex mutex_;
  std::vector<wake_up> falling_;
  time_point due_ = time_point::max();
  std::jthread probe_{[this](const std::stop_token& end) { measure(end); }};
};

/// Makes an attempt whose leases a stall of the machine ends: attempt(ttl). An attempt that fails is made
/// again with twice the ttl, if the machine has woken a thread later than a quarter of the ttl meanwhile. The
/// failures of any other attempt, and of the fifth, are those of the test.
template <class Attempt>
void despite_stalls(std::chrono::milliseconds ttl, Attempt attempt) {
  constexpr int attempts = 5;
  const stall_meter meter;
  for (int made = 1;; ++made, ttl *= 2) {
    testing::TestPartResultArray said;
    const auto begin = boot_clock::now();
    {
      const testing::ScopedFakeTestPartResultReporter reporter{
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &said};
      try {
        attempt(ttl);
      } catch (const std::exception& thrown) {
        ADD_FAILURE() << "the attempt throws: " << thrown.what();
      }
    }
    bool has_failed = false;
    for (int i = 0; i < said.size(); ++i) has_failed |= said.GetTestPartResult(i).failed();
    if (has_failed && made < attempts && meter.worst_since(begin) > ttl / 4) continue;
    for (int i = 0; i < said.size(); ++i) {
      const testing::TestPartResult& each = said.GetTestPartResult(i);
      if (each.failed()) ADD_FAILURE_AT(each.file_name(), each.line_number()) << each.message();
    }
    return;
  }
}

}  // namespace holdfast::test
