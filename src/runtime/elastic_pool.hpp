#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "base/annotated_mutex.hpp"

namespace holdfast::runtime {

/// Runs short tasks that may turn out to block, such as `std::stop_source::request_stop`, which calls the
/// stop callbacks of users. Tasks start in the order of posting.
///
/// One thread runs them, one after another. A second thread watches it: when the first one is in the same
/// task for longer than `patience` while others wait, the second one goes on with those, and a third one
/// watches. So a task that blocks holds up the others for about `patience`, and never for longer. Threads
/// beyond the second end with the tasks that needed them.
class elastic_pool {
 public:
  static constexpr std::chrono::microseconds default_patience{500};

  /// Starts the first thread. \throws holdfast::error errc::exhausted.
  /// \param patience how long a task may take while others wait.
  explicit elastic_pool(std::chrono::microseconds patience = default_patience);
  ~elastic_pool() { finish(); }
  elastic_pool(const elastic_pool&) = delete;
  elastic_pool& operator=(const elastic_pool&) = delete;

  /// Any thread. After `finish` the tasks run on the calling thread.
  void post(std::vector<std::function<void()>> tasks);
  /// Runs what has been posted, then ends the threads. Not to be called by one of them. Idempotent.
  void finish();

 private:
  void work();
  /// \return whether the calling thread is the one that runs tasks now.
  [[nodiscard]] bool take_over() HOLDFAST_REQUIRES(mutex_);
  void run_tasks() HOLDFAST_REQUIRES(mutex_);
  void add_thread() HOLDFAST_REQUIRES(mutex_);
  void add_watcher() HOLDFAST_REQUIRES(mutex_);
  void join_ended() HOLDFAST_REQUIRES(mutex_);

  const std::chrono::microseconds patience_;
  annotated::mutex mutex_;
  annotated::condition_variable changed_;
  std::deque<std::function<void()>> tasks_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t started_ HOLDFAST_GUARDED_BY(mutex_) = 0;      // tasks so far
  std::uint64_t runner_ HOLDFAST_GUARDED_BY(mutex_) = 0;       // the thread that runs tasks; zero: none does
  std::uint64_t last_runner_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // a new number each time that one takes over
  std::size_t idle_ HOLDFAST_GUARDED_BY(mutex_) = 0;           // threads that run no task
  bool watched_ HOLDFAST_GUARDED_BY(mutex_) = false;           // one of them looks again after `patience`
  bool finishing_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::list<std::thread> threads_ HOLDFAST_GUARDED_BY(mutex_);
  std::list<std::thread> ended_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
