#include "runtime/watchers.hpp"

#include <chrono>

namespace holdfast::runtime {

namespace {
constexpr std::chrono::milliseconds burst{5};
}

std::shared_ptr<void> watchers::add(std::function<void()> changed) {
  shared_->actions.push_front(std::move(changed));
  const auto place = shared_->actions.begin();
  ring_soon(shared_);
  return {static_cast<void*>(&*place), [s = shared_, place](void*) {
            const core_lock now{s->owner};
            s->actions.erase(place);
          }};
}

void watchers::ring() {
  const core_lock now{shared_->owner};
  ring_soon(shared_);
}

bool watchers::empty() const {
  const core_lock now{shared_->owner};
  return shared_->actions.empty();
}

void watchers::ring_soon(const std::shared_ptr<shared>& s) {
  if (s->ringing || s->actions.empty()) return;
  s->ringing = true;
  s->owner.at(s->owner.now() + burst, [s] {
    s->ringing = false;
    for (const auto& action : s->actions) action();
  });
}

}  // namespace holdfast::runtime
