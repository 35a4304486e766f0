// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/scheduler.hpp"
#include "core/watched.hpp"
#include "runtime/state_watch.hpp"
#include "stores/sql/link/connection.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::sql {

/// Finds changes of the names that a client watches. PostgreSQL notifies of them: of a change of any name on
/// one channel, and of a change of one name on the channel of its bucket (ADR 35). MariaDB notifies of none.
///
/// Twice a second changes are assumed, until the server has answered that it notifies, and where it does not.
/// They are assumed once more after that answer: calls that were in progress then notify nobody.
///
/// All functions are called under the core lock, and so are the actions.
class change_tracking {
 public:
  using rows_handler = std::function<void(const std::vector<row>&)>;
  struct actions {
    runtime::state_watch::sender inspect;  // the link's `send`
    /// Sends a call. The handler is not called if there is no answer.
    std::function<void(call, rows_handler)> send;
    /// For how long the server notifies of changes after a call for it; none: without a connection, or if the
    /// server has no such notifications.
    std::function<std::optional<duration>()> notified_for;
    /// Calls those who watch exactly this.
    std::function<void(const store::watched&)> ring;
    std::function<void()> flush;  // sends the calls that a timer has queued
  };

  /// \param time must outlive it. \param answer_limit how long a call of another client may be in progress.
  change_tracking(store::scheduler& time, duration answer_limit, actions with);

  /// From now on this is watched, or not any more.
  void track(const store::watched& target, bool on);
  /// A new connection: the server notifies of nothing yet, and changes may have been missed.
  void begin_anew();
  /// Any name may have changed.
  void look();
  /// The server has notified of these.
  void notified(const changes& received);
  /// Watches nothing more. Idempotent.
  void stop();

 private:
  /// One name, or all of them.
  struct target_state {
    std::uint64_t number = 0;   // tells a target from one that was removed and added again
    bool is_notified = false;   // the server has answered that it notifies
    std::int64_t bucket = 0;    // of a name, from then on
    store::time_point sent_at;  // when the last request was sent that it has answered
    std::optional<store::time_point> look_due;
  };
  using tracked = std::map<store::watched, target_state>::value_type;

  void begin(tracked& each);
  void begin_all();
  void ask_for(const tracked& each);
  void ask_again(duration lasts);
  void ask_again_later();
  void answered(const store::watched& target, std::uint64_t number, store::time_point sent_at,
                const std::vector<row>& rows);
  void look_at(const store::watched& target);
  void look_when_due();
  void leave_unused_buckets();

  store::scheduler& time_;
  const duration answer_limit_;
  const actions act_;
  runtime::state_watch states_;  // of the names that are watched alone
  std::map<store::watched, target_state> targets_;
  std::set<std::int64_t> buckets_;  // whose channels the session listens to
  std::uint64_t last_number_ = 0;
  store::scheduler::timer next_look_ = 0;
  store::scheduler::timer next_ask_ = 0;  // asks the server to go on with notifications
};

}  // namespace holdfast::sql
