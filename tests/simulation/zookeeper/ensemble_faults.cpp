// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include "simulation/zookeeper/ensemble.hpp"
#include "simulation/zookeeper/zookeeper_link.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using zookeeper::answer;
using zookeeper::change;
using zookeeper::operation;
using zookeeper::operation_kind;
using zookeeper::result;

bool ensemble::has_majority() const {
  std::size_t there = 0;
  for (std::size_t i = 0; i < servers_.size(); ++i) there += can_vote(i) ? 1 : 0;
  return there * 2 > servers_.size();
}

void ensemble::lose_leader(bool silently) {
  ++term_;
  for (std::size_t i = 0; i < servers_.size(); ++i) leave(i, silently && leader_ == i);
  leader_.reset();
  in_.after(in_.chance.between(10ms, 600ms), [this, term = term_] { elect(term); });
}

void ensemble::elect(std::uint64_t term) {
  if (term != term_ || leader_) return;
  if (!has_majority()) {
    in_.after(50ms, [this, term] { elect(term); });
    return;
  }
  std::vector<std::size_t> can;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (can_vote(i)) can.push_back(i);
  }
  leader_ = can[in_.chance.below(can.size())];
  changes_ = 0;
  being_written_.clear();
  in_.note("leads", *leader_, term_);
  for (const std::size_t i : can) join(i);
  // It knows the sessions, but not when they were heard of last.
  for (auto& [id, s] : sessions_) {
    s.owner.reset();
    s.ends = 0;
    touch(id);
  }
  lead_on(term_);
  ping(term_);
  if (!former_leader_) return;
  // So short that nobody has three beats answered there: no more than that is promised of beats.
  duration shortest = settings_.tick * 20;
  for (const auto& [id, timeout] : former_sessions_) shortest = std::min(shortest, timeout);
  const duration goes_on = in_.chance.between(0ms, shortest / 4);
  end_former_leader_after(goes_on);
  in_.after(in_.chance.between(0ms, goes_on), [this, leader = apart_.of] {
    if (apart_.of == leader && leader != nullptr) leader->cut();
  });
}

void ensemble::depose(line& along, instant until) {
  if (!leader_ || former_leader_ || servers_.size() < 3) return;
  const std::size_t old = *leader_;
  const auto others =
      std::count_if(servers_.begin(), servers_.end(), [](const server& s) { return !s.is_down; });
  if (static_cast<std::size_t>(others - 1) * 2 <= servers_.size()) return;
  in_.note("is deposed", old, term_);
  ++term_;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (i != old) leave(i, false);
  }
  servers_[old].follows = false;
  former_leader_ = old;
  former_sessions_.clear();
  for (const auto& [id, s] : sessions_) {
    if (!s.is_endless) former_sessions_[id] = s.timeout;
  }
  apart_ = {&along, until};
  leader_.reset();
  end_former_leader_after(settings_.tick * sync_limit * 2);  // whatever becomes of the election
  in_.after(in_.chance.between(10ms, 600ms), [this, term = term_] { elect(term); });
}

void ensemble::end_former_leader_after(duration d) {
  in_.after(d, [this, at = *former_leader_, in = servers_[*former_leader_].contact] {
    if (former_leader_ != at || servers_[at].contact != in) return;
    in_.note("knows that it leads no more", at);
    leave(at, true);
    join(at);
  });
}

bool ensemble::is_apart(const line& from, std::size_t at) const {
  return apart_.of == &from && in_.now < apart_.until && former_leader_ != at;
}

void ensemble::stop(std::size_t at, instant until) {
  // Where the leader stands still for too long, it is another's turn.
  const auto most = in_.now + settings_.tick * sync_limit;
  servers_[at].at.stop_until(std::min<instant>(until, most));
}

void ensemble::crash(std::size_t at, duration down) {
  server& s = servers_[at];
  if (s.is_down) return;
  s.is_down = true;
  const bool led = leader_ == at;
  leave(at, true);
  s.at.go_down();
  if (led || !has_majority()) lose_leader(true);
  in_.after(down, [this, at] {
    servers_[at].is_down = false;
    servers_[at].at.come_up();
    join(at);
  });
}

void ensemble::crash_all(duration down) {
  for (std::size_t i = 0; i < servers_.size(); ++i) crash(i, in_.chance.between(down / 2, down));
}

void ensemble::change_leader() {
  if (leader_) lose_leader(false);
}

void ensemble::hold_back(std::size_t at, bool up, bool down, instant until) {
  server& s = servers_[at];
  if (!s.follows || leader_ == at || s.is_down) return;
  if (up) s.up_held = std::max(s.up_held, until);
  if (down) s.down_held = std::max(s.down_held, until);
  const instant reply_limit = in_.now + settings_.tick * sync_limit;
  if (until <= reply_limit) return;
  in_.agenda.add(reply_limit, [this, at, in = s.contact, until] {
    if (servers_[at].contact != in) return;
    in_.note("gives its leader up", at);
    leave(at, false);
    in_.agenda.add(until, [this, at] { join(at); });
  });
}

void ensemble::hold_back(const line& from, instant until) {
  hold& h = held_[&from];
  if (h.connection != from.connection() || h.until <= in_.now) h = {until, from.connection()};
}

void ensemble::step_wall_clock(std::size_t at, duration by) { servers_[at].at.wall.step(in_.now, by); }

}  // namespace holdfast::sim
