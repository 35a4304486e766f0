#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

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
  static constexpr std::chrono::microseconds patience{500};

  /// Starts the first thread. \throws holdfast::error errc::exhausted.
  elastic_pool();
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
  [[nodiscard]] bool take_over(std::unique_lock<std::mutex>& hold);
  void run_tasks(std::unique_lock<std::mutex>& hold);
  // With the mutex held:
  void add_thread();
  void add_watcher();
  void join_ended();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::uint64_t started_ = 0;  // tasks so far
  std::uint64_t running_ = 0;  // the turn of the thread that runs tasks; zero: none does
  std::uint64_t last_turn_ = 0;
  std::size_t idle_ = 0;  // threads that run no task
  bool watched_ = false;  // one of them looks again after `patience`
  bool finishing_ = false;
  std::list<std::thread> threads_;
  std::list<std::thread> ended_;
};

}  // namespace holdfast::runtime
