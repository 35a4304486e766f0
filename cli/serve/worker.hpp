#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace holdfast::cli {

/// Does one thing after the other on a thread of its own.
class worker {
 public:
  /// \param most_waiting jobs. More are refused: whoever asks faster than the store answers is told so.
  explicit worker(std::size_t most_waiting);
  /// Drops the jobs that have not begun, and waits for the one that has.
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// \return whether it will be done. \param job does not throw.
  [[nodiscard]] bool add(std::function<void()> job);
  /// Begins no further job. \return whether none runs at the end of the limit.
  [[nodiscard]] bool stop(std::chrono::milliseconds limit);

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::size_t most_waiting_;
  std::deque<std::function<void()>> jobs_;
  bool is_busy_ = false;
  std::jthread thread_;  // the last: it uses the others
};

}  // namespace holdfast::cli
