// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "base/annotated_mutex.hpp"

namespace holdfast::runtime {

/// A thread that runs what is posted to it, in the order of posting. A task that blocks delays the tasks
/// behind it.
class lane {
 public:
  /// Starts the thread. \throws holdfast::error errc::exhausted.
  lane();
  ~lane() { finish(); }
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  /// Any thread. After `finish` the task runs on the calling thread.
  void post(std::function<void()> task) noexcept;
  /// Runs what has been posted, and what that posts, then ends the thread. Not to be called by that thread.
  /// Idempotent.
  void finish() noexcept;

 private:
  void work();

  annotated::mutex mutex_;
  annotated::condition_variable changed_;
  std::deque<std::function<void()>> tasks_ HOLDFAST_GUARDED_BY(mutex_);
  bool finishing_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool ended_ HOLDFAST_GUARDED_BY(mutex_) = false;  // Invariant: true only if no task is left.
  std::thread thread_;
};

}  // namespace holdfast::runtime
