#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "api/client_core.hpp"
#include "base/annotated_mutex.hpp"

namespace holdfast::detail {

using runtime::core_lock;

std::shared_ptr<void> client_core::watch(std::function<void()> changed) {
  require_open();
  /// Synchronizes a running callback with the thread that ends the watch. As with std::stop_callback, ending
  /// the watch waits for the callback, unless the callback itself ends it.
  struct gate {
    annotated::recursive_mutex mutex;
    std::function<void()> changed HOLDFAST_GUARDED_BY(mutex);
    std::atomic<bool> due{false};  // a call is posted and has not begun; it covers all changes until then
  };
  const auto shared = std::make_shared<gate>();
  {
    const annotated::recursive_lock held{shared->mutex};
    shared->changed = std::move(changed);
  }
  std::shared_ptr<void> registration;
  {
    const core_lock now{parts_->loop};
    registration = parts_->store->port().watch([this, shared] {
      if (shared->due.exchange(true)) return;
      parts_->loop.defer_callback([shared] {
        const annotated::recursive_lock held{shared->mutex};
        shared->due = false;
        if (const auto action = shared->changed) action();
      });
    });
  }
  /// The registration lives in the store's link, which has to outlive it.
  struct ending {
    std::shared_ptr<client_core> self;
    std::shared_ptr<gate> shared;
    std::shared_ptr<void> registration;
  };
  auto* const end = new ending{shared_from_this(), shared, std::move(registration)};
  return {shared.get(), [end](void*) {
            // In a child the mutexes may be locked for ever, and the connection is the parent's.
            if (!end->self->is_ours()) return;
            const std::unique_ptr<ending> ended{end};
            ended->registration.reset();
            const annotated::recursive_lock held{ended->shared->mutex};
            ended->shared->changed = nullptr;
          }};
}

}  // namespace holdfast::detail
