// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "api/client_core.hpp"
#include "base/annotated_mutex.hpp"

namespace holdfast::detail {

/// A user's callback that is called again and again, until the user ends it. Synchronizes a running call with
/// the thread that ends it: as with std::stop_callback, ending waits for the call, unless the callback itself
/// ends it.
template <class... Arguments>
class gate {
 public:
  explicit gate(std::function<void(Arguments...)> action) : action_{std::move(action)} {}

  void call(Arguments... arguments) {
    const annotated::recursive_lock held{mutex_};
    // By a copy: the callback may end itself.
    if (const auto action = action_) action(arguments...);
  }
  void end() {
    const annotated::recursive_lock held{mutex_};
    action_ = nullptr;
  }

 private:
  annotated::recursive_mutex mutex_;
  std::function<void(Arguments...)> action_ HOLDFAST_GUARDED_BY(mutex_);
};

/// The user's handle of a callback. Destroying it ends the registration at the client, which outlives it, and
/// then closes the gate.
template <class Gate>
[[nodiscard]] std::shared_ptr<void> handle_of(std::shared_ptr<client_core> self, std::shared_ptr<Gate> shared,
                                              std::function<void()> end_registration) {
  struct ending {
    std::shared_ptr<client_core> self;
    std::shared_ptr<Gate> shared;
    std::function<void()> end_registration;
  };
  void* const address = shared.get();
  auto* const end = new ending{std::move(self), std::move(shared), std::move(end_registration)};
  return {address, [end](void*) {
            // In a child the mutexes may be locked for ever, and the connection is the parent's.
            if (!end->self->is_ours()) return;
            const std::unique_ptr<ending> ended{end};
            ended->end_registration();
            ended->end_registration = nullptr;
            ended->shared->end();
          }};
}

}  // namespace holdfast::detail
