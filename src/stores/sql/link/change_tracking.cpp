// SPDX-License-Identifier: Apache-2.0
#include "stores/sql/link/change_tracking.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace holdfast::sql {

namespace {

using namespace std::chrono_literals;

/// At the same moments for all names, so that they are looked at together.
store::time_point next_poll(store::time_point now) {
  constexpr duration every = 500ms;
  return now + every - now.time_since_epoch() % every;
}

}  // namespace

change_tracking::change_tracking(store::scheduler& time, duration answer_limit, actions with)
    : time_{time},
      answer_limit_{answer_limit},
      act_{std::move(with)},
      states_{time, act_.inspect, [this](const std::string& name) { act_.ring(name); }} {}

void change_tracking::track(const store::watched& target, bool on) {
  if (on) {
    if (target) states_.add(*target);
    const auto added =
        targets_.insert_or_assign(target, target_state{++last_number_, false, 0, {}, {}}).first;
    begin(*added);
    look_when_due();
    if (next_ask_ == 0) ask_again_later();
    return;
  }
  if (target) states_.remove(*target);
  if (targets_.erase(target) == 0) return;  // it could not be added
  if (target) {
    leave_unused_buckets();
  } else if (act_.notified_for()) {
    act_.send({"untrack", {}}, nullptr);
  }
  if (targets_.empty()) time_.cancel(std::exchange(next_ask_, 0));
  look_when_due();
}

void change_tracking::begin_anew() {
  buckets_.clear();
  states_.look_anew();
  begin_all();
}

void change_tracking::look() {
  act_.ring(std::nullopt);
  states_.look();
}

void change_tracking::notified(const changes& received) {
  if (received.of_any_name) act_.ring(std::nullopt);
  if (received.buckets.empty()) return;
  for (const auto& [target, state] : targets_) {
    if (target && (!state.is_notified || received.buckets.contains(state.bucket))) states_.look(*target);
  }
}

void change_tracking::stop() {
  time_.cancel(std::exchange(next_look_, 0));
  time_.cancel(std::exchange(next_ask_, 0));
  targets_.clear();
  states_.stop();
}

// ---- the server's notifications

/// The first request for this target, or after a time in which the server may have ceased to notify.
void change_tracking::begin(tracked& each) {
  each.second.is_notified = false;
  each.second.look_due = next_poll(time_.now());
  ask_for(each);
}

void change_tracking::ask_for(const tracked& each) {
  const auto& [target, state] = each;
  if (!act_.notified_for()) return;
  act_.send(target ? call{"watch_name", {parameter::of_text(*target)}} : call{"watch", {}},
            [this, target = target, number = state.number, sent_at = time_.now()](
                const std::vector<row>& rows) { answered(target, number, sent_at, rows); });
}

void change_tracking::begin_all() {
  for (tracked& each : targets_) begin(each);
  look_when_due();
  time_.cancel(std::exchange(next_ask_, 0));
  if (!targets_.empty()) ask_again_later();
}

/// Once for each bucket. Where the server has refused the requests before, it may have ceased to notify.
void change_tracking::ask_again(duration lasts) {
  std::set<std::int64_t> buckets;
  for (tracked& each : targets_) {
    const auto& [target, state] = each;
    if (state.is_notified && time_.now() > state.sent_at + lasts * 2 / 3) {
      begin(each);
    } else if (!target || !state.is_notified || buckets.insert(state.bucket).second) {
      ask_for(each);
    }
  }
  look_when_due();
}

/// At a third of the time for which the server notifies: two of these calls may be late. If they were much
/// later, this process was stopped, and may have missed changes.
void change_tracking::ask_again_later() {
  const auto lasts = act_.notified_for();
  if (!lasts) return;
  const auto due = time_.now() + *lasts / 3;
  next_ask_ = time_.at(due, [this, due, lasts = *lasts] {
    next_ask_ = 0;
    if (time_.now() > due + lasts / 2) {
      begin_all();
    } else {
      ask_again(lasts);
      ask_again_later();
    }
    act_.flush();
  });
}

/// The server does not notify of changes before its answer, nor of those by calls that are in progress now:
/// their clients have an answer within `answer_limit`, or give up.
/// \param rows none: there are no routines yet.
void change_tracking::answered(const store::watched& target, std::uint64_t number, store::time_point sent_at,
                               const std::vector<row>& rows) {
  const auto found = targets_.find(target);
  if (rows.empty() || rows[0].empty()) return;
  const auto* const bucket = std::get_if<std::int64_t>(rows[0].data());
  if (target && bucket == nullptr) return;
  if (target) {
    buckets_.insert(*bucket);
    for (auto& [other, state] : targets_)
      if (other && state.is_notified && state.bucket == *bucket) state.sent_at = sent_at;
  }
  if (found != targets_.end() && found->second.number == number) {
    target_state& state = found->second;
    if (target) state.bucket = *bucket;
    state.sent_at = sent_at;
    if (!std::exchange(state.is_notified, true)) {
      state.look_due = time_.now() + answer_limit_;
      look_at(target);
      look_when_due();
    }
  }
  leave_unused_buckets();
}

/// Not before the buckets of all names are known: one of them may need it.
void change_tracking::leave_unused_buckets() {
  std::set<std::int64_t> used;
  for (const auto& [target, state] : targets_) {
    if (target && !state.is_notified) return;
    if (target) used.insert(state.bucket);
  }
  std::erase_if(buckets_, [&](std::int64_t bucket) {
    if (used.contains(bucket)) return false;
    act_.send({"unwatch_names", {parameter::of(bucket)}}, nullptr);
    return true;
  });
}

// ---- changes of which the server does not notify

void change_tracking::look_at(const store::watched& target) {
  if (target) {
    states_.look(*target);
  } else {
    act_.ring(target);
  }
}

void change_tracking::look_when_due() {
  time_.cancel(std::exchange(next_look_, 0));
  std::optional<store::time_point> first;
  for (const auto& [target, state] : targets_) {
    if (state.look_due) first = first ? std::min(*first, *state.look_due) : *state.look_due;
  }
  if (!first) return;
  next_look_ = time_.at(*first, [this] {
    next_look_ = 0;
    const auto now = time_.now();
    for (auto& [target, state] : targets_) {
      if (!state.look_due || *state.look_due > now) continue;
      state.look_due.reset();
      if (!state.is_notified) state.look_due = next_poll(now);
      look_at(target);
    }
    look_when_due();
  });
}

}  // namespace holdfast::sql
