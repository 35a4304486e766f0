#include "runtime/watchers.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::runtime {

namespace {
constexpr std::chrono::milliseconds burst{5};
}

std::shared_ptr<void> watchers::add(const store::watched& target, std::function<void()> changed) {
  const auto [found, is_new] = shared_->groups.try_emplace(target);
  if (is_new) found->second = std::make_shared<group>();
  const std::shared_ptr<group> g = found->second;
  g->actions.push_front(std::move(changed));
  const auto place = g->actions.begin();
  std::shared_ptr<void> registration{static_cast<void*>(&*place), [s = shared_, target, g, place](void*) {
                                       const core_lock now{s->owner};
                                       g->actions.erase(place);
                                       if (!g->actions.empty()) return;
                                       s->groups.erase(target);
                                       if (s->track) s->track(target, false);
                                     }};
  ring_soon(g);
  if (is_new && shared_->track) shared_->track(target, true);
  return registration;
}

void watchers::ring() {
  for (const auto& [target, each] : shared_->groups) ring_soon(each);
}

void watchers::ring_for(const std::vector<std::string>& names) {
  if (names.empty() || empty()) return;
  for (const std::string& each : names) ring_only(each);
  ring_only(std::nullopt);
}

void watchers::ring_only(const store::watched& target) {
  if (const auto found = shared_->groups.find(target); found != shared_->groups.end())
    ring_soon(found->second);
}

void watchers::ring_soon(const std::shared_ptr<group>& g) const {
  if (g->ringing || g->actions.empty()) return;
  g->ringing = true;
  event_loop& owner = shared_->owner;
  owner.at(owner.now() + burst, [g] {
    g->ringing = false;
    for (const auto& action : g->actions) action();
  });
}

}  // namespace holdfast::runtime
