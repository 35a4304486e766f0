#pragma once

#include <functional>
#include <map>
#include <utility>

#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/claim.hpp"

namespace holdfast::zookeeper {

/// Calls a handler for claims, each at its own time.
class delayed_looks {
 public:
  /// \param time must outlive it.
  delayed_looks(store::scheduler& time, std::function<void(const claim_ref&)> look)
      : time_{time}, look_{std::move(look)} {}
  ~delayed_looks() { time_.cancel(timer_); }
  delayed_looks(const delayed_looks&) = delete;
  delayed_looks& operator=(const delayed_looks&) = delete;

  void add(store::time_point when, const claim_ref& ref) {
    all_.emplace(when, ref);
    if (all_.begin()->first < next_ || timer_ == 0) wait();
  }
  void clear() {
    all_.clear();
    time_.cancel(std::exchange(timer_, 0));
  }

 private:
  void wait() {
    time_.cancel(std::exchange(timer_, 0));
    if (all_.empty()) return;
    next_ = all_.begin()->first;
    timer_ = time_.at(next_, [this] { look(); });
  }
  void look() {
    timer_ = 0;
    while (!all_.empty() && all_.begin()->first <= time_.now()) {
      const claim_ref due = all_.begin()->second;
      all_.erase(all_.begin());
      look_(due);
    }
    if (timer_ == 0) wait();
  }

  store::scheduler& time_;
  const std::function<void(const claim_ref&)> look_;
  std::multimap<store::time_point, claim_ref> all_;
  store::time_point next_;
  store::scheduler::timer timer_ = 0;
};

}  // namespace holdfast::zookeeper
