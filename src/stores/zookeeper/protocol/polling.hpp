// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_set>
#include <utility>

#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/claim.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// Polls in turn for claims whose awaited nodes cannot be watched: a bounded number at a time, at a fixed
/// interval.
class polling {
 public:
  static constexpr std::size_t most_at_once = 128;
  static constexpr std::chrono::milliseconds pause{200};

  /// \param time must outlive it, and so must `nodes`.
  /// \param look is called with each claim in its turn, after its removal from the line.
  polling(store::scheduler& time, const wire_nodes& nodes, std::function<void(const claim_ref&)> look)
      : time_{time}, nodes_{nodes}, look_{std::move(look)} {}
  ~polling() { time_.cancel(next_); }
  polling(const polling&) = delete;
  polling& operator=(const polling&) = delete;

  /// Once, however often it is added.
  void add(const claim_ref& c) {
    if (polled_.insert(c.serial).second) line_.push_back(c);
    if (next_ == 0) go_on_later();
  }
  void clear() {
    line_.clear();
    polled_.clear();
    time_.cancel(std::exchange(next_, 0));
  }

 private:
  void go_on_later() {
    next_ = time_.at(time_.now() + pause, [this] { go_on(); });
  }
  void go_on() {
    next_ = 0;
    for (std::size_t left = nodes_.is_connected() ? std::min(line_.size(), most_at_once) : 0; left > 0;
         --left) {
      const claim_ref first = line_.front();
      line_.pop_front();
      polled_.erase(first.serial);
      look_(first);
    }
    if (!line_.empty() && next_ == 0) go_on_later();
  }

  store::scheduler& time_;
  const wire_nodes& nodes_;
  const std::function<void(const claim_ref&)> look_;
  std::deque<claim_ref> line_;
  std::unordered_set<std::uint64_t> polled_;  // the claims in it, by their serials
  store::scheduler::timer next_ = 0;
};

}  // namespace holdfast::zookeeper
