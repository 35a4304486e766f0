// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/scheduler.hpp"
#include "core/watched.hpp"
#include "runtime/watchers.hpp"
#include "stores/redis/link/wire.hpp"

namespace holdfast::redis {

/// Names of locks that have changed.
struct changes {
  bool anything = false;  // all of them may have changed
  std::vector<std::string> names;

  [[nodiscard]] bool empty() const { return !anything && names.empty(); }
};

/// Under the core lock.
inline void ring_for(const changes& of, runtime::watchers& watching) {
  if (of.anything) return watching.ring();
  watching.ring_for(of.names);
}

/// Has a server report changes of keys over a connection (CLIENT TRACKING).
///
/// - While all names are watched, the server reports every key of a lock (BCAST).
/// - While single names are watched, it reports their keys alone (OPTIN): those of the command that follows
///   CLIENT CACHING YES, and of each the next change alone. So a name that has changed is tracked anew first,
///   and reported after the server's reply. A reader then sees the change, and the server reports a later one.
///
/// Where the server refuses the second to the user, the first takes its place.
///
/// All functions are called under the core lock.
class key_tracking {
 public:
  /// What it needs of its server; called under the core lock.
  struct actions {
    std::function<bool()> is_connected;
    std::function<void(std::unique_ptr<pending_command>)> push;
    std::function<void(const changes&)> changed;
    /// The server does not have the slot of a name.
    std::function<void()> misplaced;
  };

  /// \param time, prefix must outlive it.
  key_tracking(store::scheduler& time, const std::string& prefix, actions with);
  key_tracking(const key_tracking&) = delete;
  key_tracking& operator=(const key_tracking&) = delete;

  void track(const store::watched& target, bool on);
  [[nodiscard]] bool is_on() const { return all_ || !names_.empty(); }
  /// A new connection is in use, on which the server reports nothing yet.
  void connected();
  /// The server has reported changes.
  void invalidated(const changes& of);
  /// Does nothing from now on. Idempotent.
  void stop();

 private:
  enum class mode : std::uint8_t { unknown, off, all, single };

  [[nodiscard]] mode wanted() const;
  void change_mode();
  void track_name(const std::string& name);
  void answered(const pending_command& command, const std::string& name);
  void track_again(store::time_point when);
  void track_changed();

  store::scheduler& time_;
  const std::string& prefix_;
  const actions with_;
  bool all_ = false;
  std::set<std::string> names_;
  mode mode_ = mode::off;      // of the connection
  bool is_refused_ = false;    // the user may not track single names
  std::set<std::string> due_;  // names that have changed, and are to be tracked anew
  store::time_point last_tracked_{};
  store::scheduler::timer next_ = 0;  // tracks anew what is due
  store::time_point next_at_{};
};

}  // namespace holdfast::redis
