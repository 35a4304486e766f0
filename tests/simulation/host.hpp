// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "core/scheduler.hpp"
#include "simulation/scene.hpp"
#include "simulation/standing.hpp"

namespace holdfast::sim {

/// A computer with one process on it: the scheduler of that process's core. It can be paused, and then hears
/// late, all at once, what happened meanwhile; and it can die, and live anew.
class host final : public store::scheduler {
 public:
  host(scene& in, std::uint8_t number, clock boot, clock wall)
      : boot{boot}, wall{wall}, in_{in}, number_{number} {}

  // For the core, under the core lock.
  [[nodiscard]] store::time_point now() const override { return store::time_point{boot.at(in_.now)}; }
  [[nodiscard]] std::uint64_t random() override { return in_.chance.bits(); }
  [[nodiscard]] owner_id new_owner() override { return drawn(in_.chance); }
  timer at(store::time_point when, std::function<void()> callback) override;
  void cancel(timer which) override;
  void defer_callback(std::function<void()> callback) override { after_.push_back(std::move(callback)); }

  /// Reaches the process then, under the core lock; never, if it has died before.
  template <class Function>
  void hear_at(instant when, Function f) {
    in_.agenda.add(when, [this, life = life_, f = std::move(f)]() mutable {
      if (life != life_) return;
      if (paused_) {
        backlog_.push_back({false, std::move(f)});
      } else {
        turn(f);
      }
    });
  }
  /// The same, of a user of the process: after that time, by its clock.
  template <class Function>
  void hear_after(duration d, Function f) {
    hear_at(true_time_of(now() + d), std::move(f));
  }
  template <class Function>
  void turn(Function&& f) {
    f();
    while (!after_.empty()) {
      const auto next = std::move(after_.front());
      after_.pop_front();
      next();
    }
  }

  /// \param stops_clock as a clock that does not count the time in which its computer is suspended.
  void pause(bool stops_clock);
  void resume();
  [[nodiscard]] bool is_paused() const { return paused_; }
  /// What befalls it as soon as it has sent its next renewal.
  void strike_after_renewal(action callback) { strike_ = std::move(callback); }
  void sent_renewal() {
    if (strike_) in_.agenda.add(in_.now, std::exchange(strike_, {}));
  }
  /// Ends the process: timers, and whatever was on its way to it.
  void die();

  [[nodiscard]] std::uint32_t life() const { return life_; }
  [[nodiscard]] std::uint8_t number() const { return number_; }
  [[nodiscard]] instant true_time_of(store::time_point t) const { return boot.when(t.time_since_epoch()); }
  /// Microseconds of a clock that anybody may set.
  [[nodiscard]] std::int64_t wall_now() const { return wall.at(in_.now).count() / 1000; }
  [[nodiscard]] std::size_t timers() const { return timers_.size() - free_.size(); }

  /// The most lines that a computer has.
  static constexpr std::size_t most_ways = 6;
  /// Something kept it from working, or from being heard on one of its lines, until then.
  void disturb_until(instant when, std::size_t way = 0) {
    calm_since_.at(way) = std::max(calm_since_.at(way), when);
  }
  /// The connection on that line works again from then on.
  void calm_from(instant when, std::size_t way = 0) { calm_since_.at(way) = when; }
  [[nodiscard]] bool calm_since(instant when) const {
    return !paused_ && *std::max_element(calm_since_.begin(), calm_since_.end()) <= when;
  }
  /// The same, of one of its lines.
  [[nodiscard]] bool calm_since(instant when, std::size_t way) const {
    return !paused_ && resumed_at_ <= when && calm_since_.at(way) <= when;
  }
  [[nodiscard]] bool was_paused_at(instant when) const { return when >= paused_at_ && when <= resumed_at_; }

  clock boot;
  clock wall;

 private:
  struct entry {
    std::function<void()> callback;
    store::time_point when;
    std::uint32_t version = 0;
  };
  struct overdue {
    bool is_timer;
    action callback;
  };
  void arm(std::uint32_t place);
  void fire(std::uint32_t place, std::uint32_t version);

  scene& in_;
  std::uint8_t number_;
  std::uint32_t life_ = 1;
  bool paused_ = false;
  instant paused_at_ = never;
  instant resumed_at_{};
  std::array<instant, most_ways> calm_since_{};  // by line
  std::vector<entry> timers_;
  std::vector<std::uint32_t> free_;
  std::deque<std::function<void()>> after_;
  std::vector<overdue> backlog_;
  action strike_;
};

}  // namespace holdfast::sim
