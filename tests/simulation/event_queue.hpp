// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulation/action.hpp"
#include "simulation/clock.hpp"

namespace holdfast::sim {

/// What will happen in a world, in the order of time; what falls on one moment, in the order of asking.
///
/// Most of it is timers that will be cancelled long before they are due. They lie in buckets by their time,
/// in no order, and only those of the bucket that has come are sorted: a heap of all of them was a fifth of
/// the simulator's time.
class event_queue {
 public:
  event_queue() {
    slots_.reserve(1024);
    buckets_.fill(none);
  }

  void add(instant when, action callback) {
    std::uint32_t place = free_;
    if (place == none) {
      place = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      free_ = slots_[place].next;
    }
    slot& s = slots_[place];
    s.callback = std::move(callback);
    s.when = when;
    s.order = ++last_;
    ++count_;
    const std::size_t bucket = bucket_of(when);
    if (bucket <= come_) return push(place);
    s.next = buckets_[bucket];
    buckets_[bucket] = place;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// When the next is due. There has to be one.
  [[nodiscard]] instant next() {
    while (near_.empty()) {
      for (std::uint32_t place = buckets_[++come_]; place != none; place = slots_[place].next) push(place);
    }
    return near_.front().when;
  }
  [[nodiscard]] action take() {
    static_cast<void>(next());
    std::pop_heap(near_.begin(), near_.end(), later);
    const std::uint32_t place = near_.back().place;
    near_.pop_back();
    --count_;
    slots_[place].next = free_;
    free_ = place;
    return std::move(slots_[place].callback);
  }

 private:
  struct slot {
    action callback;
    instant when;
    std::uint64_t order = 0;
    std::uint32_t next = none;  // in its bucket, or among the free
  };
  struct entry {
    instant when;
    std::uint64_t order;
    std::uint32_t place;
  };
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::size_t bucket_count = 4096;  // of 33 ms: two minutes; what is later waits in the last

  static std::size_t bucket_of(instant when) {
    const auto at = static_cast<std::uint64_t>(when.time_since_epoch().count()) >> 25U;
    return std::min<std::uint64_t>(at, bucket_count - 1);
  }
  static bool later(const entry& a, const entry& b) {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }
  void push(std::uint32_t place) {
    near_.push_back({slots_[place].when, slots_[place].order, place});
    std::push_heap(near_.begin(), near_.end(), later);
  }

  std::vector<slot> slots_;
  std::array<std::uint32_t, bucket_count> buckets_{};
  std::size_t come_ = 0;  // the bucket that is being worked on; those before are empty
  std::vector<entry> near_;
  std::uint32_t free_ = none;
  std::size_t count_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace holdfast::sim
