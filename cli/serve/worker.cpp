#include "serve/worker.hpp"

#include <chrono>
#include <utility>

namespace holdfast::cli {

worker::worker(std::size_t most_waiting)
    : most_waiting_{most_waiting}, thread_{[this](const std::stop_token& stop) { run(stop); }} {}

worker::~worker() {
  thread_.request_stop();
  thread_.join();
}

bool worker::add(std::function<void()> job) {
  const std::scoped_lock lock{mutex_};
  if (jobs_.size() >= most_waiting_ || thread_.get_stop_token().stop_requested()) return false;
  jobs_.push_back(std::move(job));
  wake_.notify_all();
  return true;
}

bool worker::stop(std::chrono::milliseconds limit) {
  thread_.request_stop();
  std::unique_lock lock{mutex_};
  return wake_.wait_for(lock, limit, [this] { return !is_busy_; });
}

void worker::run(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (wake_.wait(lock, stop, [this] { return !jobs_.empty(); })) {
    if (stop.stop_requested()) break;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    is_busy_ = true;
    lock.unlock();
    job();
    lock.lock();
    is_busy_ = false;
    wake_.notify_all();
  }
}

}  // namespace holdfast::cli
