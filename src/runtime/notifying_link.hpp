// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/notification.hpp"
#include "core/watched.hpp"
#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/watchers.hpp"

namespace holdfast::runtime {

/// What the links over multiplexed connections share: a reader for all of their connections, the handlers of
/// notifications, and the watchers.
class notifying_link : public tickets::link {
 public:
  using notifications = std::vector<store::notification>;

  void on_notifications(on_notification handler) override { on_notification_ = std::move(handler); }
  void on_gap(const std::function<void()>& handler) override { on_gap_ = handler; }
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override {
    return watchers_.add(target, std::move(changed));
  }
  /// See connection_reader::is_awaited. Any thread.
  [[nodiscard]] bool is_awaited() const { return reader_.is_awaited(); }

 protected:
  explicit notifying_link(event_loop& loop)
      : loop_{loop}, watchers_{loop, [this](const store::watched& target, bool on) {
                                 tracked_ = !watchers_.empty();
                                 track(target, on);
                               }} {}

  /// Under the core lock. See watchers::tracker.
  virtual void track(const store::watched& target, bool on) = 0;

  [[nodiscard]] event_loop& loop() const { return loop_; }
  [[nodiscard]] connection_reader& reader() { return reader_; }

  // Under the core lock:
  /// Passes notifications on.
  void pass_on(const notifications& received) const {
    for (const store::notification& each : received) on_notification_(each);
  }
  /// Notifications may have been lost.
  void report_gap() const {
    if (on_gap_) on_gap_();
  }

  /// Anything may have changed.
  virtual void ring_for_anything() { watchers_.ring(); }
  [[nodiscard]] runtime::watchers& watchers() { return watchers_; }

  // Any thread, without the core lock:
  void ring_watchers() {
    if (!is_tracked()) return;
    const core_lock now{loop_};
    ring_for_anything();
  }
  /// Whether there are watchers.
  [[nodiscard]] bool is_tracked() const { return tracked_; }

 private:
  event_loop& loop_;
  on_notification on_notification_;
  std::function<void()> on_gap_;
  runtime::watchers watchers_;  // under the core lock
  std::atomic<bool> tracked_ = false;
  connection_reader reader_;
};

}  // namespace holdfast::runtime
