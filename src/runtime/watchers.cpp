// SPDX-License-Identifier: Apache-2.0
#include "runtime/watchers.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::runtime {

namespace {
constexpr std::chrono::milliseconds burst{5};
}

/// What add() returns.
struct watchers::registration {
  std::shared_ptr<shared> of;
  store::watched target;
  std::shared_ptr<group> in;
  std::list<std::function<void()>>::iterator place;

  registration(std::shared_ptr<shared> s, store::watched t, std::shared_ptr<group> g,
               std::function<void()> changed)
      : of{std::move(s)},
        target{std::move(t)},
        in{std::move(g)},
        place{in->actions.insert(in->actions.begin(), std::move(changed))} {}
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;
  ~registration() {
    const core_lock now{of->owner};
    in->actions.erase(place);
    if (!in->actions.empty()) return;
    of->groups.erase(target);
    if (of->track) of->track(target, false);
  }
};

std::shared_ptr<void> watchers::add(const store::watched& target, std::function<void()> changed) noexcept {
  std::shared_ptr<group>& in = shared_->groups[target];
  const bool is_new = in == nullptr;
  if (is_new) in = std::make_shared<group>();
  auto made = std::make_shared<registration>(shared_, target, in, std::move(changed));
  ring_soon(made->in);
  if (is_new && shared_->track) shared_->track(target, true);
  return made;
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
