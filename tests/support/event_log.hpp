// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <holdfast/event.hpp>

namespace holdfast::test {

/// Keeps the events of a client, for a test that waits for one of them.
class event_log {
 public:
  /// For client_options::observer. It may outlive the log.
  [[nodiscard]] std::function<void(const event&)> observer() const {
    return [kept = kept_](const event& e) {
      {
        const std::lock_guard guard{kept->mutex};
        kept->events.push_back(e);
      }
      kept->changed.notify_all();
    };
  }
  [[nodiscard]] std::vector<event> all() const {
    const std::lock_guard guard{kept_->mutex};
    return kept_->events;
  }
  /// Waits for an event that is so; far longer than it can take.
  /// \return the first; empty after that time.
  [[nodiscard]] std::optional<event> await(const std::function<bool(const event&)>& is_so) const {
    std::unique_lock guard{kept_->mutex};
    std::optional<event> found;
    kept_->changed.wait_for(guard, std::chrono::seconds{100}, [&] {
      const auto at = std::find_if(kept_->events.begin(), kept_->events.end(), is_so);
      if (at != kept_->events.end()) found = *at;
      return found.has_value();
    });
    return found;
  }
  [[nodiscard]] std::optional<event> await(event_kind kind) const {
    return await([kind](const event& e) { return e.kind == kind; });
  }
  [[nodiscard]] bool has(event_kind kind) const {
    const auto events = all();
    return std::any_of(events.begin(), events.end(), [kind](const event& e) { return e.kind == kind; });
  }

 private:
  struct kept {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<event> events;
  };
  std::shared_ptr<kept> kept_ = std::make_shared<kept>();
};

}  // namespace holdfast::test
