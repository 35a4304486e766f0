// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/annotated_mutex.hpp"
#include "core/backoff.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/wakeup_fd.hpp"

namespace holdfast::runtime {

/// Decides when a connection is connected: at once the first time and after a connection that was of use,
/// after a growing pause otherwise; and no more once it is stopped.
class connector {
 public:
  explicit connector(event_loop& loop) : loop_{loop} {}

  /// The server has proved good for something: it need not be spared when the connection breaks. Any thread.
  void on_success() { proved_ = true; }
  /// Makes the next try due now. Any thread.
  void hurry();
  /// Blocks until the next try is due, or `stop`. The thread that connects, without the core lock.
  void await_turn();

  /// Ends a pause, and whatever waits for `stop_descriptor`. Any thread. Idempotent.
  void stop();
  [[nodiscard]] bool is_stopping() const { return stopping_; }
  /// An eventfd that can be read once it is stopped.
  [[nodiscard]] int stop_descriptor() const { return stop_.descriptor(); }

 private:
  event_loop& loop_;
  store::backoff backoff_{retry_policy{}};
  std::atomic<bool> proved_ = true;  // since the last turn: no pause is due
  std::atomic<bool> stopping_ = false;
  annotated::mutex pause_mutex_;
  annotated::condition_variable changed_;
  wakeup_fd stop_;
};

}  // namespace holdfast::runtime
