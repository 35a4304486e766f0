// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/claim.hpp"
#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

/// Computes what the answers to a session's beats prove. A beat is a `sync`, which the leader answers. Beats
/// are answered in the order of sending.
///
/// A follower reports the sessions that it has seen to the leader at every half tick. So three beats of one
/// connection prove that the leader knows of the first: the second was sent at least half a tick after the
/// answer to the first, the third after the answer to the second, and all were answered. Then the follower's
/// report with the first beat reached the leader before the third beat. Other beats in between do not matter.
class beats {
 public:
  /// Begins a new connection: earlier beats prove nothing over it.
  void clear() { all_.clear(); }
  [[nodiscard]] std::size_t in_flight() const {
    const auto count = std::count_if(all_.begin(), all_.end(), [](const beat& b) { return !b.answered; });
    return static_cast<std::size_t>(count);
  }

  /// \return its number.
  std::uint64_t sent(store::time_point now) {
    all_.push_back({++last_number_, now, {}, {}});
    return last_number_;
  }
  /// \param number of the beat that is answered.
  /// \param half_a_tick at most, even by a slower clock.
  /// \return the sending time of the last beat that has surely reached the leader.
  std::optional<store::time_point> answered(std::uint64_t number, store::time_point now,
                                            duration half_a_tick) {
    const auto third =
        std::find_if(all_.begin(), all_.end(), [number](const beat& b) { return b.number == number; });
    if (third == all_.end()) return std::nullopt;  // of a former connection
    third->answered = now;
    std::optional<store::time_point> proven;
    for (auto earlier = all_.begin(); earlier != third; ++earlier) {
      if (!earlier->answered) continue;
      if (*earlier->answered + half_a_tick <= third->sent) third->second_to = earlier->sent;
      if (earlier->second_to && *earlier->answered <= third->sent) proven = earlier->second_to;
    }
    // Older beats prove nothing new.
    if (proven) std::erase_if(all_, [&](const beat& b) { return b.sent < *proven; });
    return proven;
  }

 private:
  struct beat {
    std::uint64_t number = 0;
    store::time_point sent;
    std::optional<store::time_point> answered;
    std::optional<store::time_point>
        second_to;  // the last beat that this one is the second to, by its sending
  };
  std::deque<beat> all_;
  std::uint64_t last_number_ = 0;
};

/// Computes until when a client's session is known to live at the servers. It does not depend on locks and
/// their nodes.
///
/// The servers end a session that was silent for its timeout. The leader counts the timeout. It learns at
/// every half tick which sessions its followers have seen, and no session is shorter than two ticks. The
/// deadline of all leases counts from the last request that is known to have reached the leader (see
/// `beats`). Beats that are only sent in time prove nothing, because delayed beats may arrive together.
///
/// - A new session is proven by its own beginning, which the servers have voted on.
/// - A new connection of the same session proves nothing by itself. A vote after it does.
/// - From then on, beats prove it: eleven in a timeout, and at once after a stall.
///
/// docs/adr/0012-deadline-by-beats-to-the-leader.md has the reasons.
class liveness {
 public:
  /// \param time must outlive it, and so must `servers`.
  /// \param top the node that beats name; it does not have to exist.
  /// \param requested the requested timeout; zero: not known.
  liveness(store::scheduler& time, wire& servers, std::string top, duration requested)
      : time_{time}, wire_{servers}, top_{std::move(top)}, requested_{requested} {}
  ~liveness() { time_.cancel(next_beat_); }
  liveness(const liveness&) = delete;
  liveness& operator=(const liveness&) = delete;

  /// \param handler is called whenever the deadline moves.
  void on_extended(std::function<void()> handler) { extended_ = std::move(handler); }

  /// \param timeout of the session, as the servers have it.
  /// \param began before the connection was asked for.
  /// \param is_new the session has begun with this connection.
  void connected(duration timeout, store::time_point began, bool is_new) {
    timeout_ = timeout;
    ++contact_;
    beats_.clear();
    stalled_ = false;
    last_beat_ = time_.now();
    if (!is_new) return confirm_contact(began);
    heard_of(began);  // the servers have voted on it
    beat();
  }
  void disconnected() {
    ++contact_;
    time_.cancel(std::exchange(next_beat_, 0));
  }
  /// The servers have ended the session.
  void expired() {
    disconnected();
    heard_of_ = {};
  }

  /// Returns the deadline, less a margin for clocks that run at different rates.
  [[nodiscard]] store::time_point until() const {
    return heard_of_ + timeout_ - timeout_ / 100 - std::chrono::milliseconds{2};
  }
  [[nodiscard]] duration timeout() const { return timeout_; }

 private:
  /// Beats in a timeout. Three of them span half a tick, even by a slower clock.
  static constexpr int beats_in_a_timeout = 11;
  /// The limit of unanswered beats: more of them prove nothing.
  static constexpr std::size_t most_beats_in_flight = 12;

  void heard_of(store::time_point sending) {
    if (sending <= heard_of_) return;
    heard_of_ = sending;
    if (extended_) extended_();
  }

  /// A reconnect touches the session at the leader, but a deposed leader that does not know it yet accepts
  /// clients, too. So a reconnect proves nothing until a majority has voted on a request that was sent after
  /// it: then the leader that accepted the session was the only one, and any later leader gives the session
  /// its whole timeout.
  void confirm_contact(store::time_point began) {
    wire_.submit({.kind = operation_kind::agree, .path = "/"},
                 [this, began, contact = contact_](const result& r) {
                   if (contact != contact_ || r.code == answer::unknown) return;
                   if (!is_agreed(r)) return in_an_interval([this, began] { confirm_contact(began); });
                   heard_of(began);
                   beat();
                 });
  }

  /// In the shortest session that the servers allow, half a tick may be a quarter of the timeout. A leader
  /// that stops for a moment between two of its polls would then be trusted for too long. A session that is
  /// longer than requested may be such a session; twice the time is subtracted there.
  [[nodiscard]] duration half_a_tick() const {
    const bool is_shortest = requested_ != duration::zero() && timeout_ > requested_;
    return timeout_ / (is_shortest ? 2 : 4) + timeout_ / 50;
  }

  /// Beats are sent while earlier ones are unanswered: after a stall, the answers to beats from the middle of
  /// it prove at once that the session has survived.
  void beat() {
    const duration usual = timeout_ / beats_in_a_timeout;
    const bool after_silence = time_.now() - last_beat_ > usual * 3 / 2;
    last_beat_ = time_.now();
    in_an_interval([this] { beat(); });
    if (beats_.in_flight() >= most_beats_in_flight) return;
    wire_.submit({.kind = operation_kind::sync, .path = top_},
                 [this, contact = contact_, after_silence, usual, sent = time_.now(),
                  number = beats_.sent(time_.now())](const result& r) {
                   if (contact != contact_ || r.code == answer::unknown) return;
                   if (is_error(r)) return beats_.clear();
                   if (const auto proven = beats_.answered(number, time_.now(), half_a_tick()))
                     heard_of(*proven);
                   // The third beat of a proof has to be sent after the answer to the second: after a stall,
                   // at once.
                   stalled_ = stalled_ || after_silence || time_.now() - sent > usual;
                   if (stalled_ && beats_.in_flight() == 0) {
                     stalled_ = false;
                     beat();
                   }
                 });
  }
  /// Calls it when the next beat is due.
  void in_an_interval(std::function<void()> action) {
    time_.cancel(next_beat_);
    next_beat_ = time_.at(time_.now() + timeout_ / beats_in_a_timeout, std::move(action));
  }

  store::scheduler& time_;
  wire& wire_;
  const std::string top_;
  const duration requested_;
  std::function<void()> extended_;

  duration timeout_{};
  store::time_point heard_of_;  // the sending time of the last request that has surely reached the leader
  beats beats_;
  store::time_point last_beat_;
  bool stalled_ = false;       // a beat was late, or its answer
  std::uint64_t contact_ = 0;  // the number of the connection; a proof is valid for its own connection only
  store::scheduler::timer next_beat_ = 0;
};

}  // namespace holdfast::zookeeper
