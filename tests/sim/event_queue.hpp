#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/action.hpp"
#include "sim/clock.hpp"

namespace holdfast::sim {

/// What will happen in a world, in the order of time; what falls on one moment, in the order of asking.
class event_queue {
 public:
  void add(instant when, action what) {
    std::uint32_t place = 0;
    if (free_.empty()) {
      place = static_cast<std::uint32_t>(actions_.size());
      actions_.push_back(std::move(what));
    } else {
      place = free_.back();
      free_.pop_back();
      actions_[place] = std::move(what);
    }
    heap_.push_back({when, ++last_, place});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] instant next() const { return heap_.front().when; }
  [[nodiscard]] action take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const std::uint32_t place = heap_.back().place;
    heap_.pop_back();
    free_.push_back(place);
    return std::move(actions_[place]);
  }

 private:
  struct entry {
    instant when;
    std::uint64_t order;
    std::uint32_t place;
  };
  static bool later(const entry& a, const entry& b) {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }

  std::vector<entry> heap_;
  std::vector<action> actions_;
  std::vector<std::uint32_t> free_;
  std::uint64_t last_ = 0;
};

}  // namespace holdfast::sim
