#include "stores/zookeeper/protocol/liveness.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace holdfast::zookeeper {

using store::time_point;

namespace {

/// Beats in a timeout. Three of them span half a tick, even by a slower clock.
constexpr int beats_in_a_timeout = 11;
/// The limit of unanswered beats: more of them prove nothing.
constexpr std::size_t most_beats_in_flight = 12;

}  // namespace

std::size_t beats::in_flight() const {
  const auto count = std::count_if(all_.begin(), all_.end(), [](const beat& b) { return !b.answered; });
  return static_cast<std::size_t>(count);
}

std::uint64_t beats::sent(time_point now) {
  all_.push_back({++last_number_, now, {}, {}});
  return last_number_;
}

std::optional<time_point> beats::answered(std::uint64_t number, time_point now, duration half_a_tick) {
  const auto third =
      std::find_if(all_.begin(), all_.end(), [number](const beat& b) { return b.number == number; });
  if (third == all_.end()) return std::nullopt;  // of a former connection
  third->answered = now;
  std::optional<time_point> proven;
  for (auto earlier = all_.begin(); earlier != third; ++earlier) {
    if (!earlier->answered) continue;
    if (*earlier->answered + half_a_tick <= third->sent) third->second_to = earlier->sent;
    if (earlier->second_to && *earlier->answered <= third->sent) proven = earlier->second_to;
  }
  // Older beats prove nothing new.
  if (proven) std::erase_if(all_, [&](const beat& b) { return b.sent < *proven; });
  return proven;
}

liveness::liveness(store::scheduler& time, wire& servers, std::string top, duration requested)
    : time_{time}, wire_{servers}, top_{std::move(top)}, requested_{requested} {}

liveness::~liveness() { time_.cancel(next_beat_); }

void liveness::connected(duration timeout, time_point began, bool is_new) {
  timeout_ = timeout;
  ++contact_;
  beats_.clear();
  stalled_ = false;
  last_beat_ = time_.now();
  if (!is_new) return confirm_contact(began);
  heard_of(began);  // the servers have voted on it
  beat();
}

void liveness::disconnected() {
  ++contact_;
  time_.cancel(std::exchange(next_beat_, 0));
}

void liveness::expired() {
  disconnected();
  heard_of_ = {};
}

time_point liveness::until() const {
  return heard_of_ + timeout_ - timeout_ / 100 - std::chrono::milliseconds{2};
}

void liveness::heard_of(time_point sending) {
  if (sending <= heard_of_) return;
  heard_of_ = sending;
  if (extended_) extended_();
}

/// A reconnect touches the session at the leader, but a deposed leader that does not know it yet accepts
/// clients, too. So a reconnect proves nothing until a majority has voted on a request that was sent after
/// it: then the leader that accepted the session was the only one, and any later leader gives the session its
/// whole timeout.
void liveness::confirm_contact(time_point began) {
  wire_.submit({.kind = operation_kind::agree, .path = "/"},
               [this, began, contact = contact_](const result& r) {
                 if (contact != contact_ || r.code == answer::unknown) return;
                 if (!is_agreed(r)) return next([this, began] { confirm_contact(began); });
                 heard_of(began);
                 beat();
               });
}

/// In the shortest session that the servers allow, half a tick may be a quarter of the timeout. A leader that
/// stops for a moment between two of its polls would then be trusted for too long. A session that is longer
/// than requested may be such a session; twice the time is subtracted there.
duration liveness::half_a_tick() const {
  const bool is_shortest = requested_ != duration::zero() && timeout_ > requested_;
  return timeout_ / (is_shortest ? 2 : 4) + timeout_ / 50;
}

/// Beats are sent while earlier ones are unanswered: after a stall, the answers to beats from the middle of
/// it prove at once that the session has survived.
void liveness::beat() {
  const duration usual = timeout_ / beats_in_a_timeout;
  const bool after_silence = time_.now() - last_beat_ > usual * 3 / 2;
  last_beat_ = time_.now();
  next([this] { beat(); });
  if (beats_.in_flight() >= most_beats_in_flight) return;
  wire_.submit({.kind = operation_kind::sync, .path = top_},
               [this, contact = contact_, after_silence, usual, sent = time_.now(),
                number = beats_.sent(time_.now())](const result& r) {
                 if (contact != contact_ || r.code == answer::unknown) return;
                 if (is_error(r)) return beats_.clear();
                 if (const auto proven = beats_.answered(number, time_.now(), half_a_tick()))
                   heard_of(*proven);
                 // The third beat of a proof has to be sent after the answer to the second: after a stall, at
                 // once.
                 stalled_ = stalled_ || after_silence || time_.now() - sent > usual;
                 if (stalled_ && beats_.in_flight() == 0) {
                   stalled_ = false;
                   beat();
                 }
               });
}

/// At the time of the next beat.
void liveness::next(std::function<void()> action) {
  time_.cancel(next_beat_);
  next_beat_ = time_.at(time_.now() + timeout_ / beats_in_a_timeout, std::move(action));
}

}  // namespace holdfast::zookeeper
