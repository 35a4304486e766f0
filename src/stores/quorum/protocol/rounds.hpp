// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/link.hpp"
#include "core/notification.hpp"
#include "core/scheduler.hpp"
#include "stores/quorum/protocol/ballots.hpp"
#include "stores/quorum/protocol/place_in_time.hpp"

namespace holdfast::quorum {

using ballots::majority_of;
using ballots::voting_terms;
using store::time_point;

/// What the coordinator needs of its link. All of it under the core lock.
class transport {
 public:
  using on_reply = tickets::link::on_reply;

  /// Requests to one server are carried out in the order of sending. Answers later, always.
  virtual void send_to(std::size_t server, ballots::request request, on_reply done) = 0;
  /// Calls it after the call that asks for it.
  virtual void soon(std::function<void()> action) = 0;
  /// Passes on a notification of a claim.
  virtual void notify(const store::notification& n) = 0;
  /// Whether the servers keep the set of their clients. If not, `join` and `leave` are not called.
  [[nodiscard]] virtual bool keeps_sets() const { return true; }
  /// Writes the set of the servers at one that keeps none, and calls `coordinator::joined`, or `not_joined`.
  /// Before the requests that are sent afterwards.
  virtual void join(std::size_t server, const std::string& set) = 0;
  /// Deletes the set at a server if it still is this one. There is no answer.
  virtual void leave(std::size_t server, const std::string& set) = 0;

 protected:
  ~transport() = default;
};

/// The outcome of each server; empty: it has not answered yet.
using outcomes = std::vector<std::optional<tickets::link::outcome>>;

using tickets::reply_in;
template <class Reply>
[[nodiscard]] const Reply* reply_in(const std::optional<tickets::link::outcome>& o) {
  return o ? reply_in<Reply>(*o) : nullptr;
}

template <class Reply>
[[nodiscard]] std::size_t count_of(const outcomes& all) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const auto& o) { return reply_in<Reply>(o) != nullptr; }));
}

/// The requests of a client to its servers, each by itself or all at once, and its timers. Nothing is called
/// after `stop`.
class rounds {
 public:
  using outcome = tickets::link::outcome;
  using on_reply = tickets::link::on_reply;
  /// Decides what the outcomes mean. Empty: that is open. \param is_last no other outcome is waited for.
  using decision = std::function<std::optional<outcome>(const outcomes&, bool is_last)>;

  rounds(store::scheduler& on, const voting_terms& of, transport& to);

  void stop() { *alive_ = false; }
  [[nodiscard]] bool is_stopped() const { return !*alive_; }
  [[nodiscard]] time_point now() const { return scheduler_.now(); }
  [[nodiscard]] std::uint64_t random() { return scheduler_.random(); }
  store::scheduler::timer at(time_point when, std::function<void()> action);
  store::scheduler::timer after(duration pause, std::function<void()> action) {
    return at(now() + pause, std::move(action));
  }
  /// Zero afterwards.
  void cancel(store::scheduler::timer& timer) { scheduler_.cancel(std::exchange(timer, 0)); }
  /// Calls it after the call that asks for it.
  void soon(std::function<void()> action);

  /// The error of a server begins with its place.
  void send_to(std::size_t server, ballots::request r, on_reply done);
  /// Sends a request to all servers. `decide` is called after each outcome, also behind the answer, and once
  /// the servers without an outcome are silent. A listing goes on while parts of it come.
  /// \param done null: nobody waits for the answer.
  /// \param failed called for each server that has not carried the request out; may be null.
  void ask_all(const ballots::request& r, decision decide, on_reply done,
               std::function<void(std::size_t server)> failed = nullptr);

  /// Calls it when each release and withdrawal has been answered by every server that answers at all: a
  /// majority is enough for the caller, and what the others keep is in everybody's way until its ttl ends. A
  /// server that is silent is waited for as long as for any other answer.
  void when_delivered(std::function<void()> action);

  [[nodiscard]] std::size_t servers() const { return terms_.places.size(); }
  [[nodiscard]] std::size_t majority() const { return majority_of(servers()); }
  /// Whether a majority cannot answer any more.
  [[nodiscard]] bool has_failed(const outcomes& all) const;
  /// \param is_last those without an outcome are silent, and not yet heard.
  [[nodiscard]] store::request_error too_few(const outcomes& all, bool is_last = true) const;
  /// The error of what waits for a majority to be known.
  [[nodiscard]] store::request_error too_few_known() const;
  /// Whether all have answered but those that were silent before: a look waits once for a server that is
  /// silent.
  [[nodiscard]] bool is_complete(const outcomes& all) const;
  /// The clocks of the servers, by their answers.
  [[nodiscard]] place_in_time& clocks() { return clocks_; }

 private:
  struct round;

  void note_answer(std::size_t server, time_point sent, outcome& o);
  void limit(const std::shared_ptr<round>& all, time_point begun);
  void send_part(const std::shared_ptr<round>& all, std::size_t server, ballots::request r);
  /// Whether a majority has ever answered.
  [[nodiscard]] bool is_known() const;

  void deliver();

  store::scheduler& scheduler_;
  const voting_terms& terms_;
  transport& to_;
  place_in_time clocks_;
  std::vector<bool> answered_;   // servers that have, ever
  std::vector<bool> is_silent_;  // servers that have not answered in time, and nothing since
  std::size_t endings_ = 0;      // requests in flight that end claims
  time_point last_ending_;       // when the last of them was sent
  std::function<void()> delivered_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for calls that come late
};

}  // namespace holdfast::quorum
