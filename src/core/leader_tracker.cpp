// SPDX-License-Identifier: Apache-2.0
#include "core/leader_tracker.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::store {

namespace {

bool is_of_another_library(const claimant& process) {
  return process.host.empty() && process.pid == 0 && process.program.empty();
}

std::optional<candidate> candidate_of(const claim_state& claim, bool leads) {
  const claimant& process = claim.claimant;
  if (claim.mode != mode::exclusive) return std::nullopt;
  if (!process.value && !is_of_another_library(process)) return std::nullopt;
  candidate c;
  c.leads = leads;
  c.value = process.value.value_or(process.label);
  c.revision = process.value_revision;
  c.token = claim.token;
  c.process = process;
  if (!process.value) c.process.label.clear();  // it is the value
  c.process.value.reset();
  c.process.value_revision = 0;
  c.age = claim.age;
  c.expires_in = claim.expires_in;
  return c;
}

}  // namespace

std::optional<candidate> leader_in(const std::optional<lock_state>& of) {
  if (!of || of->holders.empty()) return std::nullopt;
  // Only ZooKeeper gives the claims of other libraries tokens. Elsewhere such a claim is a lock, as a key of
  // Redis that another library has set.
  if (!of->holders.front().token) return std::nullopt;
  return candidate_of(of->holders.front(), true);
}

std::vector<candidate> candidates_in(const std::optional<lock_state>& of) {
  std::vector<candidate> all;
  if (auto leader = leader_in(of)) all.push_back(std::move(*leader));
  if (!of) return all;
  for (const claim_state& waiter : of->waiters) {
    if (auto standby = candidate_of(waiter, false)) all.push_back(std::move(*standby));
  }
  return all;
}

namespace {

using namespace std::chrono_literals;

/// The longest time between two looks.
constexpr duration longest_pause = 1s;
/// The shortest, at a leader whose time is up and who is still shown.
constexpr duration shortest_pause = 20ms;
/// A little after the leader's time is up by the store's clock, so that one look is enough.
constexpr duration after_expiry = 1ms;

bool are_same(const std::optional<candidate>& one, const std::optional<candidate>& other) {
  if (!one || !other) return !one && !other;
  return one->token == other->token && one->value == other->value && one->revision == other->revision &&
         one->process.host == other->process.host && one->process.pid == other->process.pid;
}

}  // namespace

leader_tracker::position leader_tracker::position_of(const candidate& leader) {
  return {leader.token, leader.revision};
}

bool leader_tracker::is_outdated(time_point now, const std::optional<candidate>& leader) {
  const bool is_older = leader && position_of(*leader) < newest_;
  if (!is_older) {
    older_.reset();
    return false;
  }
  if (!older_ || older_->token != leader->token) {
    older_ = {leader->token, now + std::max(leader->expires_in, longest_pause)};
  }
  return now < older_->outlived;
}

std::optional<observation> leader_tracker::looked(time_point now, const std::optional<lock_state>& state) {
  auto leader = leader_in(state);
  const bool answers_again = std::exchange(error_, std::nullopt).has_value();
  const bool is_same_term = leader && leader_ && leader->token == leader_->token;
  if (is_same_term && leader->revision < leader_->revision) leader = leader_;  // a copy that lags behind
  if (is_outdated(now, leader)) {
    if (answers_again && reported_) return observation{leader_, std::nullopt};
    return std::nullopt;
  }
  if (leader) newest_ = position_of(*leader);
  if (reported_ && !answers_again && are_same(leader, leader_)) {
    leader_ = std::move(leader);  // its times have changed
    return std::nullopt;
  }
  reported_ = true;
  leader_ = std::move(leader);
  return observation{leader_, std::nullopt};
}

std::optional<observation> leader_tracker::failed(const failure& reason) {
  if (error_ == reason.code) return std::nullopt;
  error_ = reason.code;
  return observation{leader_, error{reason.code, reason.message}};
}

time_point leader_tracker::next_look(time_point now) const {
  if (!leader_ || error_) return now + longest_pause;
  return now + std::clamp(leader_->expires_in + after_expiry, shortest_pause, longest_pause);
}

}  // namespace holdfast::store
