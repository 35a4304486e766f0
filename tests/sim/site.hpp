#pragma once

#include <algorithm>
#include <utility>

#include "sim/scene.hpp"

namespace holdfast::sim {

/// The machine of the server: its clocks, and whether anything gets in.
class site {
 public:
  explicit site(scene& in, clock boot, clock wall) : boot{boot}, wall{wall}, in_{in} {}

  /// Runs `f` there as soon as it works, in the order of coming; never, if it is down.
  template <class Function>
  void enter(Function f) {
    if (down_) return;
    if (in_.now < stopped_until_) {
      in_.agenda.add(stopped_until_, [this, f = std::move(f)]() mutable { enter(std::move(f)); });
    } else {
      f();
    }
  }

  void stop_until(instant when) {
    stopped_until_ = std::max(stopped_until_, when);
    calm_since_ = std::max(calm_since_, when);
  }
  void go_down() {
    down_ = true;
    stopped_until_ = {};
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
  scene& in_;
  bool down_ = false;
  instant stopped_until_{};
  instant calm_since_{};
};

}  // namespace holdfast::sim
