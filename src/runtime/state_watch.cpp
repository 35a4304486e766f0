// SPDX-License-Identifier: Apache-2.0
#include "runtime/state_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace holdfast::runtime {

namespace {
constexpr std::chrono::milliseconds burst{5};
}

void state_watch::add(const std::string& name) {
  watched_name& n = names_[name];
  n.number = ++last_number_;
  if (n.inspection.start()) ask(name, n);
}

void state_watch::look() {
  if (names_.empty()) return;
  for (auto& [name, each] : names_) each.is_due = true;
  look_soon();
}

void state_watch::look(const std::string& name) {
  const auto found = names_.find(name);
  if (found == names_.end()) return;
  found->second.is_due = true;
  look_soon();
}

void state_watch::look_soon() {
  if (next_look_ != 0) return;
  next_look_ = time_.at(std::max(time_.now(), last_look_ + burst), [this] {
    next_look_ = 0;
    inspect_due();
  });
}

void state_watch::look_anew() {
  for (auto& [name, each] : names_) each.seen.reset();
  look();
}

void state_watch::stop() {
  time_.cancel(std::exchange(next_look_, 0));
  names_.clear();
}

void state_watch::inspect_due() {
  last_look_ = time_.now();
  for (auto& [name, each] : names_) {
    if (std::exchange(each.is_due, false) && each.inspection.start()) ask(name, each);
  }
}

void state_watch::ask(const std::string& name, watched_name& n,
                      std::shared_ptr<tickets::listing_state> so_far) {
  send_(tickets::inspect{.name = name, .listed = std::move(so_far)},
        [this, name, number = n.number](const tickets::link::outcome& outcome) {
          answered(name, number, outcome);
        });
}

void state_watch::answered(const std::string& name, std::uint64_t number,
                           const tickets::link::outcome& outcome) {
  const auto found = names_.find(name);
  if (found == names_.end() || found->second.number != number) return;
  watched_name& n = found->second;
  const auto* const reply = std::get_if<tickets::reply>(&outcome);
  const auto* const part = reply == nullptr ? nullptr : std::get_if<tickets::more>(reply);
  if (part != nullptr && part->progress) return ask(name, n, part->listed);
  const auto* const state = reply == nullptr ? nullptr : std::get_if<std::optional<lock_state>>(reply);
  std::optional<snapshot> now;
  if (state != nullptr) now = snapshot_of(*state);
  // Without an answer the next look is reported, too.
  const bool is_news = !now || n.seen != now;
  n.seen = std::move(now);
  // That name alone: a look at all of them would make the others look again in turn.
  if (n.inspection.finish()) {
    n.is_due = true;
    look_soon();
  }
  if (is_news) changed_(name);
}

state_watch::snapshot state_watch::snapshot_of(const std::optional<lock_state>& state) {
  snapshot s;
  if (!state) return s;
  for (const claim_state& each : state->holders) {
    s.holders.emplace_back(each.owner, each.token);
    s.modes.push_back(each.mode);
    s.revisions.push_back(each.claimant.value_revision);
  }
  for (const claim_state& each : state->waiters) s.waiters.emplace_back(each.owner, each.token);
  s.last_token = state->last_token;
  s.capacity = state->capacity;
  s.pause_reason = state->pause_reason;
  return s;
}

}  // namespace holdfast::runtime
