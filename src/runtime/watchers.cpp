#include "runtime/watchers.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::runtime {

namespace {
constexpr std::chrono::milliseconds burst{5};
}

/// What add() returns. It does nothing until it is complete: add() has the core lock while it may still fail.
struct watchers::registration {
  std::shared_ptr<shared> of;
  store::watched target;
  std::shared_ptr<group> in;
  std::list<std::function<void()>>::iterator place{};
  bool is_complete = false;

  registration(std::shared_ptr<shared> s, store::watched t, std::shared_ptr<group> g)
      : of{std::move(s)}, target{std::move(t)}, in{std::move(g)} {}
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;
  ~registration() {
    if (!is_complete) return;
    const core_lock now{of->owner};
    in->actions.erase(place);
    if (!in->actions.empty()) return;
    of->groups.erase(target);
    if (of->track) of->track(target, false);
  }
};

std::shared_ptr<void> watchers::add(const store::watched& target, std::function<void()> changed) {
  const auto found = shared_->groups.find(target);
  const bool is_new = found == shared_->groups.end();
  const auto made =
      std::make_shared<registration>(shared_, target, is_new ? std::make_shared<group>() : found->second);
  group& g = *made->in;
  std::list<std::function<void()>> action;
  action.push_back(std::move(changed));
  if (is_new) shared_->groups.emplace(target, made->in);
  made->place = action.begin();
  g.actions.splice(g.actions.begin(), action);
  bool is_asked = false;
  try {
    ring_soon(made->in);
    is_asked = is_new && shared_->track;
    if (is_asked) shared_->track(target, true);
  } catch (...) {
    g.actions.erase(made->place);
    if (is_new) shared_->groups.erase(target);
    if (is_asked) end_tracking(target);
    throw;
  }
  made->is_complete = true;
  return made;
}

/// A tracker that has failed may have asked the store already.
void watchers::end_tracking(const store::watched& target) const {
  try {
    shared_->track(target, false);
  } catch (...) {
    // Out of threads or memory: the store goes on reporting the changes. They reach no watcher.
  }
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
  event_loop& owner = shared_->owner;
  owner.at(owner.now() + burst, [g] {
    g->ringing = false;
    for (const auto& action : g->actions) action();
  });
  g->ringing = true;  // afterwards: without its timer the group would never be called again
}

}  // namespace holdfast::runtime
