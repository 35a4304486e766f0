#pragma once

#include <atomic>
#include <cstdint>
#include <unistd.h>

namespace holdfast::store {

/// A thread that is blocked in a call of ours until what it asked for is there, and that may as well work for
/// the store meanwhile. Shared by the thread and whoever serves it, since the one who wakes it may still be
/// at it when it is gone.
class caller {
 public:
  [[nodiscard]] bool is_served() const { return state_.load(std::memory_order_acquire) == served; }

  /// What it waits for is there. Any thread.
  void serve() {
    if (state_.exchange(served, std::memory_order_acq_rel) == polling) ring();
    state_.notify_one();
  }
  /// Ends its `wait`: somebody has to work for the store now. Any thread.
  void call() {
    std::uint32_t expected = waiting;
    if (state_.compare_exchange_strong(expected, called, std::memory_order_acq_rel)) state_.notify_one();
  }

  /// Blocks until it is served or called.
  void wait() {
    state_.wait(waiting, std::memory_order_acquire);
    std::uint32_t expected = called;
    state_.compare_exchange_strong(expected, waiting, std::memory_order_acq_rel);
  }
  /// Around a wait for descriptors, one of which is `bell`, an eventfd that outlives it and is rung when it
  /// is served. False, and then not to be ended, when it is served already.
  [[nodiscard]] bool begin_polling(int bell) {
    bell_ = bell;
    std::uint32_t expected = state_.load(std::memory_order_relaxed);
    while (expected != served &&
           !state_.compare_exchange_weak(expected, polling, std::memory_order_acq_rel)) {
    }
    return expected != served;
  }
  void end_polling() {
    std::uint32_t expected = polling;
    state_.compare_exchange_strong(expected, waiting, std::memory_order_acq_rel);
  }

 private:
  enum : std::uint32_t { waiting, called, polling, served };

  void ring() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(bell_, &one, sizeof one);  // full is rung, too
  }

  std::atomic<std::uint32_t> state_ = waiting;
  int bell_ = -1;
};

}  // namespace holdfast::store
