// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include <holdfast/boot_clock.hpp>

namespace holdfast::cli {

/// Does one thing after the other on a thread of its own.
class worker {
 public:
  struct job {
    std::function<void()> run;
    boot_clock::time_point deadline = boot_clock::time_point::max();  ///< it does not begin later
    std::function<void()> expire = [] {};  ///< called instead of `run`, on the worker's thread or in expire()
  };

  /// \param most jobs at a time, with the one that is being done. More are refused: whoever asks faster than
  /// the store answers is told so.
  explicit worker(std::size_t most);
  /// Drops the jobs that have not begun, and waits for the one that has.
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// \return whether it will be done, or expire. \param one throws nothing.
  [[nodiscard]] bool add(job one);
  /// Drops the jobs whose deadline is over, also while another one is being done.
  void expire(boot_clock::time_point now);

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::size_t most_;
  std::deque<job> jobs_;
  bool is_busy_ = false;
  std::jthread thread_;  // the last: it uses the others
};

}  // namespace holdfast::cli
