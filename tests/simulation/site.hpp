// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <utility>

#include "simulation/scene.hpp"

namespace holdfast::sim {

/// The computer of the server: its clocks, and whether anything gets in.
class site {
 public:
  explicit site(scene& in, clock boot, clock wall) : boot{boot}, wall{wall}, in_{in} {}

  /// Runs `f` there as soon as it works, in the order of coming; never, if it is down.
  template <class Function>
  void enter(Function f) {
    if (down_) return;
    if (in_.now >= stopped_until_ && waiting_.empty()) return f();
    waiting_.emplace_back(std::move(f));
    if (waiting_.size() == 1) go_on_later();
  }

  void stop_until(instant when) {
    stopped_until_ = std::max(stopped_until_, when);
    calm_since_ = std::max(calm_since_, when);
  }
  /// It works, and not as it should, until then.
  void disturb_until(instant when) { calm_since_ = std::max(calm_since_, when); }
  void go_down() {
    down_ = true;
    stopped_until_ = {};
    waiting_.clear();
  }
  void come_up() {
    down_ = false;
    calm_since_ = std::max(calm_since_, in_.now);
  }
  /// Whether somebody who connects is let in.
  [[nodiscard]] bool answers() const { return !down_ && in_.now >= stopped_until_; }
  [[nodiscard]] bool is_down() const { return down_; }
  [[nodiscard]] bool calm_since(instant when) const { return !down_ && calm_since_ <= when; }

  /// Microseconds, as its store sees them: of the clock that ends leases, and of the one that makes tokens.
  [[nodiscard]] std::int64_t lease_now() const {
    return ends_by_wall_clock ? wall_now() : boot.at(in_.now).count() / 1000;
  }
  [[nodiscard]] std::int64_t wall_now() const { return wall.at(in_.now).count() / 1000; }

  clock boot;
  clock wall;
  bool ends_by_wall_clock = false;

 private:
  void go_on_later() {
    in_.agenda.add(stopped_until_, [this] {
      while (!waiting_.empty()) {
        if (in_.now < stopped_until_) return go_on_later();  // it was stopped again
        action next = std::move(waiting_.front());
        waiting_.pop_front();
        next();
      }
    });
  }

  scene& in_;
  std::deque<action> waiting_;  // until it works
  bool down_ = false;
  instant stopped_until_{};
  instant calm_since_{};
};

}  // namespace holdfast::sim
