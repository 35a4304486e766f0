// SPDX-License-Identifier: Apache-2.0
// What becomes of a simulated primary of Redis whose replica was promoted.

#include <algorithm>
#include <chrono>
#include <utility>

#include "simulation/redis_store.hpp"

namespace holdfast::sim {

namespace {

/// A client asks again after a second: see failover_guard. A server is no primary for longer than that.
constexpr auto shortest_demotion = std::chrono::milliseconds{1100};

}  // namespace

bool redis_store::promote_beside() {
  former_primary goes_on{server_, listener_, never, never};
  if (min_replicas_max_lag_) goes_on.takes_writes_until = acknowledged_at_ + *min_replicas_max_lag_;
  for (known_client& c : known_clients_) {
    const bool stays = is_taken_over(c);
    const auto dropped =
        std::erase_if(c.sessions, [&](const session& s) { return s.is_at_former && !stays; });
    if (dropped != 0 && c.link != nullptr && c.sessions.empty()) c.link->way().cut();
    for (session& s : c.sessions) s.is_at_former = !s.is_at_former;
  }
  promote();
  former_ = std::move(goes_on);
  fall_back();
  return speech.guard.count() != 0 && min_replicas_max_lag_;
}

void redis_store::demote_former() {
  if (!former_) return;
  former_->demoted = in_->now;
  former_->server.follow(server_);
  for (known_client& c : known_clients_) {
    const bool stays = is_idle_at_former(c) && in_->chance.one_in(2);
    std::erase_if(c.sessions, [&](const session& s) {
      return s.is_at_former && !(stays && s.number == c.link->connection());
    });
    if (c.link != nullptr && c.sessions.empty()) c.link->way().cut();
  }
}

bool redis_store::leads_to_next(const line& way) {
  return std::any_of(known_clients_.begin(), known_clients_.end(), [&](const known_client& c) {
    return c.link != nullptr && &c.link->way() == &way && is_taken_over(c);
  });
}

void redis_store::fail_over() {
  for (known_client& c : known_clients_) {
    const bool stays = is_taken_over(c);
    std::erase_if(c.sessions, [&](const session& s) { return !stays || !s.is_at_former; });
    for (session& s : c.sessions) s.is_at_former = false;
  }
  promote();
}

/// The replica that takes over is the former primary, if there is one.
void redis_store::promote() {
  if (former_) {
    former_->server.take_over_from(server_);
    server_ = std::move(former_->server);
    former_.reset();
  } else {
    server_.fail_over();
  }
  replicas_.catch_up();
  listen_to_all();
}

/// Whether its connection leads there, and nothing is on its way.
bool redis_store::is_idle_at_former(const known_client& c) const {
  if (c.link == nullptr || c.sessions.empty() || !c.link->way().is_idle()) return false;
  const session& last = c.sessions.back();
  return last.is_at_former && last.number == c.link->connection();
}

bool redis_store::is_taken_over(const known_client& c) const {
  return former_ && former_->demoted != never && in_->now >= former_->demoted + shortest_demotion &&
         is_idle_at_former(c);
}

/// Before a command is carried out there.
void redis_store::prepare_former() {
  if (former_->demoted != never) return former_->server.follow(server_);
  if (in_->now < former_->takes_writes_until) return;
  former_->server.configure().refuses = {redis_model::refusal::of::writes,
                                         "NOREPLICAS Not enough good replicas to write."};
}

}  // namespace holdfast::sim
