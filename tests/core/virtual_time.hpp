// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "core/scheduler.hpp"

namespace holdfast::test {

/// The scheduler of tests: time passes when the test says so, chance comes from a seed, and turns are calls
/// of `turn`, one at a time.
class virtual_time final : public store::scheduler {
 public:
  explicit virtual_time(std::uint64_t seed = 1) : chance_{seed} {}

  [[nodiscard]] store::time_point now() const override { return now_; }
  [[nodiscard]] std::uint64_t random() override { return chance_(); }
  [[nodiscard]] owner_id new_owner() override {
    owner_id::bytes_type bytes{};
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(chance_());
    return owner_id{bytes};
  }
  timer at(store::time_point when, std::function<void()> action) override {
    timers_.emplace(key{when, ++last_}, std::move(action));
    return last_;
  }
  void cancel(timer which) override {
    std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == which; });
  }
  void defer_callback(std::function<void()> action) override { after_.push_back(std::move(action)); }

  /// Runs an action under the core lock, then what it deferred.
  void turn(const std::function<void()>& action) {
    action();
    while (!after_.empty()) {
      const auto next = std::move(after_.front());
      after_.pop_front();
      next();
    }
  }

  /// Lets time pass until `until`, each timer under the core lock at its own moment.
  void run_until(store::time_point until) {
    while (!timers_.empty() && timers_.begin()->first.first <= until) run_next();
    now_ = std::max(now_, until);
  }
  void run_for(store::time_point::duration how_long) { run_until(now_ + how_long); }
  /// As for a process that is stopped: time passes, and whatever is due runs late, when the test lets time
  /// run.
  void stop_for(store::time_point::duration how_long) { now_ += how_long; }
  /// When the next timer is due; max without one.
  [[nodiscard]] store::time_point next_timer() const {
    return timers_.empty() ? store::time_point::max() : timers_.begin()->first.first;
  }
  [[nodiscard]] std::size_t timers() const { return timers_.size(); }

 private:
  using key = std::pair<store::time_point, timer>;  // those of one moment in the order of asking

  void run_next() {
    const auto first = timers_.extract(timers_.begin());
    now_ = std::max(now_, first.key().first);
    turn(first.mapped());
  }

  store::time_point now_{std::chrono::hours{1}};
  std::mt19937_64 chance_;
  timer last_ = 0;
  std::map<key, std::function<void()>> timers_;
  std::deque<std::function<void()>> after_;
};

}  // namespace holdfast::test
