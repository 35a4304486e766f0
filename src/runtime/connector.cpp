#include "runtime/connector.hpp"

namespace holdfast::runtime {

void connector::await_turn() {
  if (proved_.exchange(false)) return backoff_.reset();
  duration pause{};
  {
    const core_lock now{loop_, true};
    pause = backoff_.next(loop_.random());
  }
  std::unique_lock hold{pause_mutex_};
  stopped_.wait_for(hold, pause, [this] { return stopping_.load(); });
}

void connector::stop() {
  stopping_ = true;
  {
    const std::lock_guard hold{pause_mutex_};
  }
  stopped_.notify_one();
  stop_.ring();
}

}  // namespace holdfast::runtime
