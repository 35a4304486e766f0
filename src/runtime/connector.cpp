// SPDX-License-Identifier: Apache-2.0
#include "runtime/connector.hpp"

namespace holdfast::runtime {

void connector::await_turn() {
  if (proved_.exchange(false)) return backoff_.reset();
  duration pause{};
  {
    const core_lock now{loop_, true};
    pause = backoff_.next(loop_.random());
  }
  const auto end = std::chrono::steady_clock::now() + pause;
  const annotated::lock held{pause_mutex_};
  while (!stopping_ && !proved_ && changed_.wait_until(pause_mutex_, end) == std::cv_status::no_timeout) {
  }
}

void connector::hurry() {
  proved_ = true;
  {
    const annotated::lock held{pause_mutex_};
  }
  changed_.notify_one();
}

void connector::stop() {
  stopping_ = true;
  {
    const annotated::lock held{pause_mutex_};
  }
  changed_.notify_one();
  stop_.ring();
}

}  // namespace holdfast::runtime
