// SPDX-License-Identifier: Apache-2.0
#include "serve/worker.hpp"

#include <utility>

namespace holdfast::cli {

worker::worker(std::size_t most) : most_{most}, thread_{[this](const std::stop_token& stop) { run(stop); }} {}

worker::~worker() {
  thread_.request_stop();
  thread_.join();
}

bool worker::add(job one) {
  const std::scoped_lock lock{mutex_};
  const std::size_t count = jobs_.size() + (is_busy_ ? 1 : 0);
  if (count >= most_ || thread_.get_stop_token().stop_requested()) return false;
  jobs_.push_back(std::move(one));
  wake_.notify_all();
  return true;
}

void worker::expire(boot_clock::time_point now) {
  std::deque<job> late;
  {
    const std::scoped_lock lock{mutex_};
    auto all = std::exchange(jobs_, {});
    for (job& each : all) (now < each.deadline ? jobs_ : late).push_back(std::move(each));
  }
  for (const job& each : late) each.expire();
}

void worker::run(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (wake_.wait(lock, stop, [this] { return !jobs_.empty(); })) {
    if (stop.stop_requested()) break;
    const auto next = std::move(jobs_.front());
    jobs_.pop_front();
    is_busy_ = true;
    lock.unlock();
    if (boot_clock::now() < next.deadline) {
      next.run();
    } else {
      next.expire();
    }
    lock.lock();
    is_busy_ = false;
  }
}

}  // namespace holdfast::cli
