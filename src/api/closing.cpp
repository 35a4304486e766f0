#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "api/client_core.hpp"
#include "runtime/process.hpp"

namespace holdfast::detail {

using runtime::core_lock;

namespace {

/// A latch for a wait with a limit.
struct idle_latch {
  annotated::mutex mutex;
  annotated::condition_variable changed;
  bool rung HOLDFAST_GUARDED_BY(mutex) = false;

  void ring() {
    {
      const annotated::lock held{mutex};
      rung = true;
    }
    changed.notify_one();
  }
  bool wait_until(std::chrono::steady_clock::time_point limit) {
    const annotated::lock held{mutex};
    while (!rung && changed.wait_until(mutex, limit) == std::cv_status::no_timeout) {
    }
    return rung;
  }
};

}  // namespace

void client_core::close() noexcept {
  if (!is_ours()) return;
  const auto limit = std::chrono::steady_clock::now() + options_.flush_limit();
  if (closed_.exchange(true)) {
    // Another thread closes it, or has. Its observer may still run, and is not to outlive this call, either.
    if (!runtime::is_own_thread()) ended_.wait(false);
    return end_journal(limit);
  }
  closing_.request_stop();
  const auto idle = std::make_shared<idle_latch>();
  {
    const core_lock now{parts_->loop, true};
    parts_->operations.close({errc::closed, "the client was closed"});
    parts_->leases->close();
    parts_->observers->close();
    parts_->driver->when_idle([idle] { idle->ring(); });
  }
  while (parts_->link->drive()) {
  }
  parts_->link->kick();
  if (!idle->wait_until(limit)) {
    const core_lock now{parts_->loop};
    parts_->driver->abandon();
  }
  ended_ = true;
  ended_.notify_all();
  end_journal(limit);
}

void client_core::end_journal(std::chrono::steady_clock::time_point limit) noexcept {
  // A thread of a client may be the one that has to tell the events.
  if (runtime::is_own_thread()) return parts_->loop.journal().end(std::nullopt);
  parts_->loop.journal().end(std::max(limit, std::chrono::steady_clock::now() + least_time_for_events));
}

}  // namespace holdfast::detail
