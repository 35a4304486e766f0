#include "runtime/elastic_pool.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "runtime/signals.hpp"

namespace holdfast::runtime {

elastic_pool::elastic_pool(std::chrono::microseconds patience) : patience_{patience} {
  const annotated::lock held{mutex_};
  add_thread();
}

void elastic_pool::post(std::vector<std::function<void()>> tasks) {
  if (tasks.empty()) return;
  annotated::lock held{mutex_};
  if (finishing_ && threads_.empty()) {
    held.unlock();
    for (const auto& task : tasks) task();
    return;
  }
  tasks_.insert(tasks_.end(), std::make_move_iterator(tasks.begin()), std::make_move_iterator(tasks.end()));
  if (finishing_) {
    changed_.notify_all();  // who finishes the pool waits for the same variable
  } else if (runner_ == 0 || !watched_) {
    changed_.notify_one();
  }
}

void elastic_pool::finish() {
  const annotated::lock held{mutex_};
  finishing_ = true;
  changed_.notify_all();
  // A thread that is ended by its last task may still add one that watches.
  while (!threads_.empty()) changed_.wait(mutex_);
  join_ended();
}

void elastic_pool::work() {
  const annotated::lock held{mutex_};
  ++idle_;
  while (take_over()) {
    --idle_;
    run_tasks();
    ++idle_;
    if (idle_ > 2) break;  // one to run tasks and one to watch are enough
  }
  --idle_;
  const auto own = std::find_if(threads_.begin(), threads_.end(), [](const std::thread& t) {
    return t.get_id() == std::this_thread::get_id();
  });
  ended_.splice(ended_.end(), threads_, own);
  changed_.notify_all();
}

bool elastic_pool::take_over() {
  while (true) {
    if (tasks_.empty()) {
      // While a task runs, the pool cannot end: the task may post another.
      if (finishing_ && runner_ == 0) return false;
      changed_.wait(mutex_);
    } else if (runner_ == 0) {
      runner_ = ++last_runner_;
      return true;
    } else if (watched_) {
      changed_.wait(mutex_);
    } else {
      watched_ = true;
      const std::uint64_t seen = started_;
      const auto until = std::chrono::steady_clock::now() + patience_;
      while (runner_ != 0 && changed_.wait_until(mutex_, until) == std::cv_status::no_timeout) {
      }
      watched_ = false;
      if (tasks_.empty() || (runner_ != 0 && started_ != seen)) continue;
      runner_ = ++last_runner_;  // from now on the other one runs its one task alone
      return true;
    }
  }
}

void elastic_pool::run_tasks() {
  const std::uint64_t runner = runner_;
  while (runner_ == runner && !tasks_.empty()) {
    if (idle_ == 0) add_watcher();
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    ++started_;
    if (!tasks_.empty() && !watched_) changed_.notify_one();
    mutex_.unlock();
    task();
    task = nullptr;  // what it owned may call into the library
    mutex_.lock();
  }
  if (runner_ == runner) runner_ = 0;
  if (runner_ == 0 && (finishing_ || !tasks_.empty())) changed_.notify_all();
}

/// With the mutex held, so that the thread finds itself among the others when it ends.
void elastic_pool::add_thread() {
  threads_.emplace_back();
  try {
    threads_.back() = quiet_thread([this] { work(); });
  } catch (...) {
    threads_.pop_back();
    throw;
  }
}

/// Without it the tasks run all the same, one after another.
void elastic_pool::add_watcher() {
  join_ended();
  try {
    add_thread();
  } catch (const std::exception&) {
    // Out of threads or memory: the next task tries again.
  }
}

/// An ended thread has let go of the mutex, which the caller holds, and does not take it again.
void elastic_pool::join_ended() {
  for (std::thread& t : ended_) t.join();
  ended_.clear();
}

}  // namespace holdfast::runtime
