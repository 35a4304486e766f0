#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/port.hpp"
#include "core/scheduler.hpp"

namespace holdfast::lease_core {

/// Looks at one name after each notification, and now and then without one. At most one look is under way, so
/// that an older state is never seen after a newer one of the same server. Looks begin at least 10 ms apart:
/// notifications may come in any number. Called under the core lock. Nothing is called after its end.
class repeated_look {
 public:
  /// Gets what a look has found, and says when to look again without a notification. It may destroy the
  /// repeated_look; its return value is of no effect then.
  using on_seen = std::function<store::time_point(const store::inspected&)>;

  /// \param patience how long a look is tried again before its error is its answer.
  repeated_look(store::scheduler& time, store::port& port, std::string name, duration patience, on_seen seen);
  ~repeated_look();
  repeated_look(const repeated_look&) = delete;
  repeated_look& operator=(const repeated_look&) = delete;

  /// Something may have changed at the store.
  void look();

 private:
  struct state;
  static void look(const std::shared_ptr<state>& of);
  static void look_at(const std::shared_ptr<state>& of, store::time_point when);

  std::shared_ptr<state> state_;  // replies that are under way have it weakly
};

}  // namespace holdfast::lease_core
