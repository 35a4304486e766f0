// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

namespace holdfast::sim {

/// Time as nobody in the world can see it: what the clocks of its computers are compared by.
struct true_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<true_clock>;
  static constexpr bool is_steady = true;
};
using instant = true_clock::time_point;
inline constexpr instant never = instant::max();

/// The clock of one computer: runs a little fast or slow, and may be set. For some hours only, or the
/// nanoseconds times the rate would overflow.
class clock {
 public:
  using reading = std::chrono::nanoseconds;

  explicit clock(reading start, std::int64_t rate_ppm = 0) : shown_{start}, ppm_{rate_ppm} {}

  [[nodiscard]] reading at(instant now) const {
    if (stopped_) return shown_;
    const reading run = now - since_;
    return shown_ + run + reading{run.count() * ppm_ / million};
  }
  /// The first moment at which it shows that, or more.
  [[nodiscard]] instant when(reading shows) const {
    if (stopped_) return never;
    const std::int64_t ahead = (shows - shown_).count();
    instant t = since_ + reading{ahead * million / (million + ppm_)};
    while (at(t) < shows) ++t;
    return t;
  }
  void step(instant now, reading by) { start_from(now, at(now) + by); }
  /// As a clock that does not run while its computer is suspended.
  void stop(instant now) {
    start_from(now, at(now));
    stopped_ = true;
  }
  void go_on(instant now) {
    if (std::exchange(stopped_, false)) start_from(now, shown_);
  }

 private:
  static constexpr std::int64_t million = 1'000'000;

  void start_from(instant now, reading shows) {
    shown_ = shows;
    since_ = now;
  }

  reading shown_;
  instant since_;
  std::int64_t ppm_;
  bool stopped_ = false;
};

}  // namespace holdfast::sim
