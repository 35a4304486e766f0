// SPDX-License-Identifier: Apache-2.0
#include "simulation/host.hpp"

#include <algorithm>

namespace holdfast::sim {

store::scheduler::timer host::at(store::time_point when, std::function<void()> callback) {
  std::uint32_t place = 0;
  if (free_.empty()) {
    place = static_cast<std::uint32_t>(timers_.size());
    timers_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  entry& e = timers_[place];
  e.callback = std::move(callback);
  e.when = when;
  arm(place);
  return (timer{e.version} << 32U) + place + 1;
}

void host::cancel(timer which) {
  if (which == 0) return;
  const auto place = static_cast<std::uint32_t>(which - 1);
  if (place >= timers_.size() || timers_[place].version != which >> 32U) return;
  timers_[place].callback = nullptr;
  ++timers_[place].version;
  free_.push_back(place);
}

void host::arm(std::uint32_t place) {
  const entry& e = timers_[place];
  const instant when = std::max(in_.now, true_time_of(e.when));
  in_.agenda.add(when, [this, life = life_, place, version = e.version] {
    if (life != life_) return;
    if (paused_) {
      backlog_.push_back({true, [this, place, version] { fire(place, version); }});
    } else {
      turn([&] { fire(place, version); });
    }
  });
}

void host::fire(std::uint32_t place, std::uint32_t version) {
  if (timers_[place].version != version) return;
  if (now() < timers_[place].when) return arm(place);  // its clock has stood still meanwhile
  const auto callback = std::exchange(timers_[place].callback, nullptr);
  ++timers_[place].version;
  free_.push_back(place);
  callback();
}

void host::pause(bool stops_clock) {
  paused_ = true;
  paused_at_ = in_.now;
  resumed_at_ = never;
  if (stops_clock) boot.stop(in_.now);
}

void host::resume() {
  paused_ = false;
  resumed_at_ = in_.now;
  boot.go_on(in_.now);
  disturb_until(in_.now);
  // Which of all that is due a process sees first when it wakes, nobody has promised.
  const auto first = in_.chance.below(3);
  auto due = std::exchange(backlog_, {});
  const auto run_those = [&](auto which) {
    for (overdue& o : due) {
      if (o.callback && which(o)) {
        action callback = std::move(o.callback);
        turn(callback);
      }
    }
  };
  if (first != 0) run_those([&](const overdue& o) { return o.is_timer == (first == 1); });
  run_those([](const overdue&) { return true; });
}

void host::die() {
  ++life_;
  paused_ = false;
  paused_at_ = never;
  boot.go_on(in_.now);
  backlog_.clear();
  strike_ = {};
  after_.clear();
  timers_.clear();
  free_.clear();
}

}  // namespace holdfast::sim
