#include "simulation/change_hints.hpp"

#include <chrono>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

std::shared_ptr<void> change_hints::watch(host& at, std::size_t name, std::function<void()> changed) {
  std::erase_if(watchers_, [](const auto& each) { return each.expired(); });
  auto added = std::make_shared<watcher>(watcher{&at, at.life(), name, std::move(changed)});
  watchers_.push_back(added);
  return added;
}

/// One in eight is lost: whoever waits has to look now and then all the same.
void change_hints::changed(std::size_t name) {
  for (const auto& each : watchers_) {
    const auto to = each.lock();
    if (!to || to->name != name || to->is_told || to->at->life() != to->life || in_.chance.one_in(8))
      continue;
    to->is_told = true;
    to->at->hear_at(in_.now + in_.chance.between(1ms, 20ms), [each] {
      const auto still = each.lock();
      if (!still) return;
      still->is_told = false;
      still->changed();
    });
  }
}

}  // namespace holdfast::sim
