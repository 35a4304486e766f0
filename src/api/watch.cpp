// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "api/client_core.hpp"
#include "api/gate.hpp"
#include "base/annotated_mutex.hpp"
#include "holdfast/error.hpp"

namespace holdfast::detail {

using runtime::core_lock;

/// What of a watch has begun. Where the rest of it fails, that ends, and its callback is not called any more.
template <class Gate>
struct client_core::registrations {
  parts& of;
  std::shared_ptr<Gate> callback;
  std::optional<lease_core::observers::observer_id> observer{};
  std::shared_ptr<void> watch{};

  registrations(parts& all, std::shared_ptr<Gate> called) : of{all}, callback{std::move(called)} {}
  registrations(const registrations&) = delete;
  registrations& operator=(const registrations&) = delete;
  ~registrations() {
    end();
    callback->end();
  }
  /// Idempotent.
  void end() {
    watch.reset();
    if (!observer) return;
    const core_lock now{of.loop};
    of.observers->remove(*std::exchange(observer, std::nullopt));
  }
};

std::shared_ptr<void> client_core::watch(store::watched target, std::function<void()> changed) {
  require_open();
  const auto shared = std::make_shared<gate<>>(std::move(changed));
  // A call is posted and has not begun; it covers all changes until then.
  const auto due = std::make_shared<std::atomic<bool>>(false);
  const auto begun = std::make_shared<registrations<gate<>>>(*parts_, shared);
  {
    const core_lock now{parts_->loop};
    begun->watch = parts_->driver->watch(std::move(target), [this, shared, due] {
      if (due->exchange(true)) return;
      parts_->loop.defer_callback([this, shared, due] {
        *due = false;
        if (!is_closed()) shared->call();
      });
    });
  }
  return handle_of(shared_from_this(), shared, [begun] { begun->end(); });
}

std::shared_ptr<void> client_core::observe(std::string name,
                                           std::function<void(const observation&)> changed) {
  require_open();
  /// A callback that takes long gets the last observation after it, and not all that came meanwhile.
  struct last_observation {
    annotated::mutex mutex;
    std::optional<observation> value HOLDFAST_GUARDED_BY(mutex);
  };
  const auto shared = std::make_shared<gate<const observation&>>(std::move(changed));
  const auto last = std::make_shared<last_observation>();
  const auto begun = std::make_shared<registrations<gate<const observation&>>>(*parts_, shared);
  {
    const core_lock now{parts_->loop};
    require_open();
    const auto id = parts_->observers->add(name, [this, shared, last](observation seen) {
      {
        const annotated::lock held{last->mutex};
        if (std::exchange(last->value, std::move(seen))) return;  // a call is posted already
      }
      parts_->loop.defer_callback([shared, last] {
        std::optional<observation> newest;
        {
          const annotated::lock held{last->mutex};
          newest = std::exchange(last->value, std::nullopt);
        }
        if (newest) shared->call(*newest);
      });
    });
    begun->observer = id;
    begun->watch = parts_->driver->watch(std::move(name), [this, id] {
      parts_->loop.assert_core_locked();
      parts_->observers->look(id);
    });
  }
  return handle_of(shared_from_this(), shared, [begun] { begun->end(); });
}

}  // namespace holdfast::detail
