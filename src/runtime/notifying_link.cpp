#include "runtime/notifying_link.hpp"

namespace holdfast::runtime {

notifying_link::notifying_link(event_loop& loop)
    : loop_{loop}, watchers_{loop, [this](const store::watched& target, bool on) {
                               tracked_ = !watchers_.empty();
                               track(target, on);
                             }} {}

void notifying_link::ring_watchers() {
  if (!is_tracked()) return;
  const core_lock now{loop_};
  ring_for_anything();
}

}  // namespace holdfast::runtime
