// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/owner_id.hpp"
#include "core/link.hpp"
#include "core/notification.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "stores/sql/protocol/poll.hpp"

namespace holdfast::sql {

/// How a client polls. See the options `notify` and `poll`.
struct polling_settings {
  duration longest = std::chrono::milliseconds{100};  // the longest interval between two polls
  poll_maker question = nullptr;
};

/// The notifications of a client whose session receives none: it polls. One statement asks for all claims of
/// the client that wait, and its rows are notifications. They are hints like those that a server sends: a
/// claim looks before it believes one.
///
/// The interval grows from 10 ms to the longest one, with jitter, and is short again when a claim begins to
/// wait, when a claim is granted, and when this client frees a name. No timer runs while no claim waits.
/// What concerns holders, a request to release, is asked for after each renewal.
///
/// If more than `most_polled` names are waited for, the polls ask for them in turn.
///
/// All functions are called under the core lock, and so are the actions.
class claim_polling {
 public:
  using answer_handler = std::function<void(const std::vector<row>*)>;  // null: the server refused the call
  struct actions {
    /// Sends a call. The handler is not called if there is no answer.
    std::function<void(call, answer_handler)> send;
    std::function<void(const store::notification&)> notify;
    std::function<void()> flush;  // sends the calls that a timer has queued
  };

  /// \param time must outlive it. \param answer_limit an answer that takes longer does not come.
  claim_polling(store::scheduler& time, const owner_id& client, polling_settings settings,
                duration answer_limit, actions with);

  /// A request is about to be sent: a claim that is withdrawn does not wait any more.
  void sent(const tickets::request& request);
  /// A request has its answer: a claim waits, or does not, a name was freed, or holds were renewed.
  void answered(const tickets::request& request, const tickets::link::outcome& outcome);
  /// A new connection: there is no answer to the last poll.
  void begin_anew();
  /// Polls no more. Idempotent.
  void stop();

 private:
  struct reader;

  void add(const store::hold& claim);
  void remove(const owner_id& owner);
  void look_soon(const std::vector<std::string_view>& freed);
  void poll_holds(const tickets::renew& of, const tickets::kept& answer);
  void poll_soon(duration within);
  void poll_at(store::time_point due);
  void poll();
  void ask(std::vector<poll_question::place> places, bool is_held);
  void take_in(const std::vector<row>& rows, std::vector<row>& seen);

  store::scheduler& time_;
  const owner_id client_;
  const polling_settings settings_;
  const duration answer_limit_;
  const actions act_;

  std::unordered_map<owner_id, poll_question::place> waiting_;
  std::map<std::string, std::multiset<std::int64_t>, std::less<>> names_;  // the tokens of those that wait
  std::string last_name_;                                                  // that was polled
  // The rows of the answers before:
  std::vector<row> seen_waiting_;
  std::vector<row> seen_held_;
  duration interval_;
  std::optional<store::time_point> unanswered_since_;  // a poll has no answer yet
  store::time_point due_;                              // of the next poll
  store::scheduler::timer next_ = 0;
};

}  // namespace holdfast::sql
