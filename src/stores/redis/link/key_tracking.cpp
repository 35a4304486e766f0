// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/key_tracking.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

using namespace std::chrono_literals;

/// A name that changes all the time is tracked anew so often.
constexpr duration burst = 5ms;
/// After a refusal that may pass: a slot that is on its way to another server, say.
constexpr duration retry_after = 500ms;

void append_tracking_of_all(std::string& out, const std::string& prefix) {
  // Side keys begin with a brace. Prefixes must not overlap, and an empty one means every key.
  if (prefix.empty()) return append(out, {"CLIENT", "TRACKING", "ON", "BCAST"});
  if (prefix.front() == '{') return append(out, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "{"});
  append(out, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", prefix, "PREFIX", "{"});
}

bool is_error(const value& v) { return v.is(value::kind::error); }

/// The user lacks a right, or the server the command.
bool is_refusal(const value& v) {
  return is_error(v) && (v.text.starts_with("NOPERM") || v.text.starts_with("ERR unknown") ||
                         v.text.starts_with("ERR Unknown"));
}

}  // namespace

key_tracking::key_tracking(store::scheduler& time, const std::string& prefix, actions with)
    : time_{time}, prefix_{prefix}, with_{std::move(with)} {}

void key_tracking::track(const store::watched& target, bool on) {
  if (!target) {
    all_ = on;
  } else if (on) {
    names_.insert(*target);
  } else {
    names_.erase(*target);
    due_.erase(*target);
  }
  if (!with_.is_connected()) return;
  if (wanted() != mode_) return change_mode();
  if (target && on && mode_ == mode::single) track_name(*target);
}

void key_tracking::connected() {
  mode_ = mode::unknown;
  is_refused_ = false;
  if (wanted() != mode::off) change_mode();
}

void key_tracking::invalidated(const changes& of) {
  if (mode_ == mode::all) return with_.changed(of);
  if (mode_ != mode::single) return;
  if (of.anything) due_ = names_;
  for (const std::string& each : of.names) {
    if (names_.contains(each)) due_.insert(each);
  }
  if (due_.empty()) return;
  const auto earliest = last_tracked_ + burst;
  if (time_.now() >= earliest) return track_changed();
  track_again(earliest);
}

void key_tracking::stop() { time_.cancel(std::exchange(next_, 0)); }

key_tracking::mode key_tracking::wanted() const {
  if (all_ || (is_refused_ && !names_.empty())) return mode::all;
  return names_.empty() ? mode::off : mode::single;
}

/// A server changes from one way to the other only when it is off.
void key_tracking::change_mode() {
  const bool was_on = mode_ != mode::off;
  mode_ = wanted();
  due_.clear();
  auto c = std::make_unique<pending_command>();
  c->replies_due = 0;
  const auto add = [&] { ++c->replies_due; };
  if (was_on) {
    append(c->command, {"CLIENT", "TRACKING", "OFF"});
    add();
  }
  if (mode_ == mode::all) {
    append_tracking_of_all(c->command, prefix_);
    add();
    // Also where the server refuses it: nobody hears of a change otherwise.
    c->on_answer = [this](const value* reply) {
      if (reply != nullptr) with_.changed({.anything = true, .names = {}});
    };
  } else if (mode_ == mode::single) {
    append(c->command, {"CLIENT", "TRACKING", "ON", "OPTIN"});
    add();
  }
  with_.push(std::move(c));
  if (mode_ != mode::single) return;
  for (const std::string& each : names_) track_name(each);
}

/// The server also remembers keys that do not exist.
void key_tracking::track_name(const std::string& name) {
  const keys k = keys::of(prefix_, name);
  auto c = std::make_unique<pending_command>();
  append(c->command, {"CLIENT", "CACHING", "YES"});
  append(c->command, {"EXISTS", k.lock, k.fence, k.waiters, k.holders});
  c->replies_due = 2;
  const pending_command& command = *c;
  c->on_answer = [this, &command, name](const value*) { answered(command, name); };
  with_.push(std::move(c));
}

void key_tracking::answered(const pending_command& command, const std::string& name) {
  if (command.problem) return;  // the next connection does all of it again
  if (!names_.contains(name) || mode_ != mode::single) return;
  const auto& replies = command.replies;
  if (std::any_of(replies.begin(), replies.end(), is_refusal)) {
    is_refused_ = true;
    return change_mode();
  }
  if (std::any_of(replies.begin(), replies.end(), is_error)) {
    due_.insert(name);
    track_again(time_.now() + retry_after);
    with_.misplaced();
  }
  with_.changed({.anything = false, .names = {name}});
}

void key_tracking::track_again(store::time_point when) {
  if (next_ != 0 && next_at_ <= when) return;
  time_.cancel(next_);
  next_at_ = when;
  next_ = time_.at(when, [this] {
    next_ = 0;
    track_changed();
  });
}

void key_tracking::track_changed() {
  time_.cancel(std::exchange(next_, 0));
  last_tracked_ = time_.now();
  const std::set<std::string> due = std::exchange(due_, {});
  for (const std::string& each : due) track_name(each);
}

}  // namespace holdfast::redis
