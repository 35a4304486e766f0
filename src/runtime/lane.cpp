// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane.hpp"

#include <utility>

#include "runtime/signals.hpp"

namespace holdfast::runtime {

lane::lane() : thread_{quiet_thread([this] { work(); })} {}

void lane::post(std::function<void()> task) noexcept {
  {
    const annotated::lock held{mutex_};
    if (!ended_) {
      tasks_.push_back(std::move(task));
      changed_.notify_one();
      return;
    }
  }
  task();
}

void lane::finish() noexcept {
  {
    const annotated::lock held{mutex_};
    finishing_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void lane::work() {
  annotated::lock held{mutex_};
  while (true) {
    while (tasks_.empty() && !finishing_) changed_.wait(mutex_);
    if (tasks_.empty()) break;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    held.unlock();
    task();
    task = nullptr;  // what it owned may call into the library
    held.relock();
  }
  ended_ = true;
}

}  // namespace holdfast::runtime
