// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/watched.hpp"
#include "runtime/event_loop.hpp"

namespace holdfast::runtime {

/// Callbacks for changes at a store, each for one name or for all. However often something changes, a
/// callback is called once a burst: a moment after the first change, when readers can see it.
///
/// All functions are called under the core lock.
class watchers {
 public:
  /// From now on somebody watches this, or nobody any more.
  using tracker = std::function<void(const store::watched& target, bool on)>;

  explicit watchers(event_loop& on, tracker track = nullptr)
      : shared_{std::make_shared<shared>(on, std::move(track))} {}

  /// \param changed is called under the core lock until the returned object is destroyed, the first time
  /// soon. The object is destroyed without the core lock, by any thread.
  [[nodiscard]] std::shared_ptr<void> add(const store::watched& target,
                                          std::function<void()> changed) noexcept;
  /// Anything may have changed.
  void ring();
  /// These names have changed: calls those who watch one of them, and those who watch all names.
  void ring_for(const std::vector<std::string>& names);
  /// Calls those alone who watch exactly this: one name, or all names.
  void ring_only(const store::watched& target);
  /// How many different things are watched.
  [[nodiscard]] std::size_t size() const { return shared_->groups.size(); }
  [[nodiscard]] bool empty() const { return shared_->groups.empty(); }
  /// Whether somebody watches exactly this.
  [[nodiscard]] bool contains(const store::watched& target) const { return shared_->groups.contains(target); }

 private:
  struct group {
    std::list<std::function<void()>> actions;
    bool ringing = false;
  };
  struct shared {
    shared(event_loop& on, tracker t) : owner{on}, track{std::move(t)} {}
    event_loop& owner;
    const tracker track;
    std::map<store::watched, std::shared_ptr<group>> groups;
  };
  struct registration;
  void ring_soon(const std::shared_ptr<group>& g) const;

  std::shared_ptr<shared> shared_;
};

}  // namespace holdfast::runtime
