// SPDX-License-Identifier: Apache-2.0
#include "simulation/witness.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;
using lease_core::lease_record;
using lease_core::lease_record_ptr;

namespace {

std::string description(const witness::belief& b) {
  return name_of(b.name) + ", token " + std::to_string(b.lease->hold.token.value()) + ", client " +
         std::to_string(b.at->number());
}

}  // namespace

bool witness::is_held(const belief& b) { return b.at->life() == b.life && b.lease->held_at(b.at->now()); }

/// Whether its holder was lost, and did not release it. Clocks may run at different rates.
bool witness::rests(const belief& b) {
  const lease_record& lease = *b.lease;
  if (lease.grace == duration::zero()) return false;
  const bool is_lost = lease.state() == lease_record::phase::lost && lease.reason == errc::lost &&
                       lease.loss != loss_reason::ended_at_store;
  const bool was_left = lease.state() == lease_record::phase::held && !is_held(b);
  return (is_lost || was_left) && b.at->now() < lease.deadline() + lease.grace - lease.grace / 32;
}

std::int64_t witness::weight_of(const belief& b) {
  switch (b.lease->mode()) {
    case mode::exclusive: return b.lowered ? 1 : store::full_capacity;
    case mode::shared: return 1;
    case mode::permits: return b.lease->permits;
  }
  return store::full_capacity;
}

void witness::granted(const host& at, const lease_record_ptr& lease) {
  ++grants_;
  belief b;
  b.lease = lease;
  b.at = &at;
  b.life = at.life();
  b.name = index_of(lease->hold.name);
  b.grant = account_.grant_of(lease->hold);
  b.requested = at.true_time_of(lease->deadline() - lease->ttl() + lease->margin);
  b.first_end = at.true_time_of(lease->deadline());
  in_.note("granted", at.number(), b.name, lease->hold.token.value());
  auto& all = beliefs_[b.name];
  std::erase_if(all, [](const belief& old) {
    const bool is_over = old.at->life() != old.life || old.lease->state() != lease_record::phase::held;
    return is_over && !rests(old);
  });
  all.push_back(b);
  if (account_.is_suspect(b.name) || account_.is_ended_by_hand(lease->hold.owner)) return;
  if (b.grant.number == 0)
    return in_.violated("a lease is believed that the store never granted: " + description(b));
  require_rising(b);
  compare(b.name);
}

void witness::require_rising(const belief& b) {
  auto& all = tokens_[b.name];
  const std::uint64_t token = b.lease->hold.token.value();
  auto at = std::find_if(all.rbegin(), all.rend(), [&](const seen& s) {
              return s.grant.number < b.grant.number;
            }).base();
  at = all.insert(at, {b.grant, token});
  const auto comparable = [&](const seen& s) { return s.grant.era == b.grant.era; };
  const bool below = at != all.begin() && comparable(*std::prev(at)) && std::prev(at)->token >= token;
  const bool above =
      std::next(at) != all.end() && comparable(*std::next(at)) && std::next(at)->token <= token;
  if (below || above) in_.violated("tokens do not rise from grant to grant: " + description(b));
}

void witness::before_renewal(const host& at) {
  for (auto& all : beliefs_) {
    for (belief& b : all) {
      if (b.at == &at) b.was_over = !is_held(b);
    }
  }
}

void witness::renewed(const host& at) {
  for (const auto& all : beliefs_) {
    for (const belief& b : all) {
      if (b.at == &at && b.was_over && is_held(b)) in_.violated("a loss was taken back: " + description(b));
    }
  }
  for (std::size_t name = 0; name < names; ++name) {
    const auto concerns = [&](const belief& b) { return b.at == &at; };
    if (std::any_of(beliefs_[name].begin(), beliefs_[name].end(), concerns)) compare(name);
  }
}

void witness::lowered(const lease_record_ptr& lease, bool yes) {
  const std::size_t name = index_of(lease->hold.name);
  for (belief& b : beliefs_[name]) {
    if (b.lease == lease) b.lowered = yes;
  }
  if (!yes) compare(name);
}

void witness::compare(std::size_t name) {
  std::int64_t together = 0;
  bool excused = false;
  for (const belief& b : beliefs_[name]) {
    if (!is_held(b) && !rests(b)) continue;
    together += weight_of(b);
    // What a lease is worth goes back to a request that the store answered; a store that has broken its
    // conditions since may have forgotten it.
    const auto answered = b.lease->deadline() - b.lease->ttl() + b.lease->margin;
    excused = excused || b.at->true_time_of(answered) <= account_.broken_at(name) ||
              account_.is_confused(b.lease->hold.owner) || account_.is_ended_by_hand(b.lease->hold.owner);
  }
  bool outsider_believes = false;
  for (const outsider& o : outsiders_) {
    if (o.name != name || o.at->now() >= o.until) continue;
    together += capacity_of(name);
    outsider_believes = true;
    excused = excused || o.at->true_time_of(o.requested) <= account_.broken_at(name);
    // One of ours may hold by a grant that the store has forgotten, and that one has come since; or the
    // reverse.
    excused = excused || account_.forgot_grants_at() + longest_ttl + longest_ttl > in_.now;
  }
  if (together <= capacity_of(name)) return;
  if (excused || account_.is_suspect(name)) {
    ++excused_;
    in_.note("excused overlap", name);
    return;
  }
  std::string believers;
  for (const belief& b : beliefs_[name]) {
    if (is_held(b) || rests(b)) believers.append(believers.empty() ? "" : " and ").append(description(b));
  }
  in_.violated("believed at once, or within the grace after a loss: " + believers +
               (outsider_believes ? " and a client of others" : ""));
}

void witness::outsider_holds(const host& at, std::size_t name, store::time_point until,
                             store::time_point requested) {
  outsider_ends(at);
  outsiders_.push_back({&at, name, until, requested});
  ++outsiders_count_;
  compare(name);
}

void witness::master_fails() {
  for (std::size_t name = 0; name < names; ++name) {
    if (account_.is_suspect(name)) continue;
    for (const belief& b : beliefs_[name]) {
      const instant last_loss = std::max(account_.broken_at(name), account_.forgot_grants_at());
      if (is_held(b) && last_loss < b.requested) acknowledged_.push_back(b);
    }
  }
  fails_at_ = in_.now;
}

void witness::replica_takes_over(const std::vector<standing>& there) {
  for (const belief& b : std::exchange(acknowledged_, {})) {
    const bool excused = account_.is_suspect(b.name) || account_.broken_at(b.name) > fails_at_;
    if (excused || in_.now >= b.first_end) continue;
    const bool known = std::any_of(there.begin(), there.end(), [&](const standing& s) {
      return s.name == b.name && s.owner == b.lease->hold.owner && s.granted;
    });
    if (!known) in_.violated("the replica does not know of an acknowledged grant: " + description(b));
  }
}

void witness::outsider_ends(const host& at) {
  std::erase_if(outsiders_, [&](const outsider& o) { return o.at == &at; });
}

void witness::lost(const host& at, const lease_record& lease, instant since, const site& server) {
  const std::string token = "token " + std::to_string(lease.hold.token.value());
  in_.note("lost", at.number(), lease.hold.token.value());
  const instant due = at.true_time_of(lease.deadline());
  if (in_.now > due && !at.was_paused_at(due)) in_.violated("a loss was told too late: " + token);
  if (account_.is_ended_by_hand(lease.hold.owner)) return;
  const bool at_deadline = in_.now + 2ms >= due;
  if (!at_deadline && lease.reason == errc::lost && account_.surely_lives(lease.hold)) {
    in_.violated("told to be lost before its deadline, and still at the store: " + token);
  }
  if (!at_deadline || !lease.schedule.renews || lease.reason != errc::lost || in_.now - since < 200ms) return;
  const instant well_since = in_.now - enough_to_renew_;
  if (at.calm_since(well_since) && server.calm_since(well_since)) {
    in_.violated("lost although nothing hindered its renewal: " + token);
  }
}

void witness::write(const lease_record_ptr& lease, ledger::grant by) {
  const std::size_t name = index_of(lease->hold.name);
  resource& r = resources_[name];
  if (r.era != account_.era(name)) r = {0, 0, account_.era(name)};
  const bool is_ended = account_.is_ended_by_hand(lease->hold.owner);
  if (by.number == 0 || by.era != r.era || account_.is_suspect(name) || is_ended)
    return;  // no promise holds between these
  const std::uint64_t token = lease->hold.token.value();
  in_.note("write", name, token);
  if (token < r.highest) {
    ++stale_refused_;
    return;
  }
  if (by.number < r.last_grant) in_.violated("a resource took a stale write: " + lease->hold.name);
  r.highest = token;
  r.last_grant = std::max(r.last_grant, by.number);
}

}  // namespace holdfast::sim
