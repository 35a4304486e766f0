// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <unistd.h>

namespace holdfast::store {

/// A thread that is blocked in a lock call. While it waits, it may perform I/O for the store. Shared by the
/// thread and the code that serves it: the thread may have returned while that code still uses the object.
class caller {
 public:
  /// Whether it has to return.
  [[nodiscard]] bool is_served() const { return state_.load(std::memory_order_acquire) >= dismissed; }
  /// Whether it returns without its result, which somebody else has to read.
  [[nodiscard]] bool is_dismissed() const { return state_.load(std::memory_order_acquire) == dismissed; }

  /// The result that the caller waits for is there. Any thread.
  void serve() { end(served); }
  /// The caller's time is over; a result of the same moment may go unnoticed. Any thread.
  void dismiss() {
    if (!is_served()) end(dismissed);
  }
  /// Ends the caller's `wait`: a thread has to perform I/O for the store now. Any thread.
  void call() {
    std::uint32_t expected = waiting;
    if (state_.compare_exchange_strong(expected, called, std::memory_order_acq_rel)) state_.notify_one();
  }

  /// Blocks until the caller is served or called.
  void wait() {
    state_.wait(waiting, std::memory_order_acquire);
    std::uint32_t expected = called;
    state_.compare_exchange_strong(expected, waiting, std::memory_order_acq_rel);
  }
  /// Begins a wait for descriptors, one of which is `wakeup`: an eventfd that outlives the caller, and
  /// becomes readable when the caller is served. False when it is served already: then `end_polling` is not
  /// called.
  [[nodiscard]] bool begin_polling(int wakeup) {
    wakeup_ = wakeup;
    std::uint32_t expected = state_.load(std::memory_order_relaxed);
    while (expected < dismissed &&
           !state_.compare_exchange_weak(expected, polling, std::memory_order_acq_rel)) {
    }
    return expected < dismissed;
  }
  void end_polling() {
    std::uint32_t expected = polling;
    state_.compare_exchange_strong(expected, waiting, std::memory_order_acq_rel);
  }

 private:
  enum : std::uint32_t { waiting, called, polling, dismissed, served };

  void end(std::uint32_t state) {
    if (state_.exchange(state, std::memory_order_acq_rel) == polling) ring();
    state_.notify_one();
  }
  void ring() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written =
        ::write(wakeup_, &one, sizeof one);  // a full counter is readable, too
  }

  std::atomic<std::uint32_t> state_ = waiting;
  int wakeup_ = -1;
};

}  // namespace holdfast::store
