// SPDX-License-Identifier: Apache-2.0
#include "why/wait_graph.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace holdfast::cli {

namespace {

/// As in claimant::job. A foreign claim does not say whose it is, so it is a party of its own, with a name
/// that no process has.
std::string identity_of(const claim_state& claim) {
  const claimant& process = claim.claimant;
  return process.pid == 0 ? '\n' + claim.owner : fmt::format("{} {}", process.host, process.pid);
}

bool excludes(const claim_state& before, const claim_state& waiter) {
  return waiter.mode != mode::shared || before.mode != mode::shared;
}

void keep_those_of(const std::vector<claim_state>& former, std::vector<claim_state>& claims) {
  std::set<std::string> owners;
  for (const auto& claim : former) owners.insert(claim.owner);
  std::erase_if(claims, [&](const claim_state& claim) { return !owners.contains(claim.owner); });
}

}  // namespace

wait_graph::wait_graph(std::vector<lock_state> locks) : locks_{std::move(locks)}, members_(locks_.size()) {
  const auto number_of = [this](const claim_state& claim) {
    const auto [found, is_new] = numbers_.try_emplace(identity_of(claim), parties_.size());
    if (is_new) parties_.push_back({.process = claim.claimant, .holds = {}, .waits = {}, .commands = {}});
    return found->second;
  };
  for (const auto& lock : locks_) {
    auto& members = members_[positions_.size()];
    positions_.emplace(lock.name, positions_.size());
    for (const auto& claim : lock.holders) {
      members.holders.push_back(number_of(claim));
      party& holder = parties_[members.holders.back()];
      if (holder.holds.empty()) holder.process = claim.claimant;
      holder.holds.push_back({lock.name, claim, 0});
    }
    for (const auto& claim : lock.waiters) {
      members.waiters.push_back(number_of(claim));
      parties_[members.waiters.back()].waits.push_back({lock.name, claim, members.waiters.size()});
    }
  }
  for (index i = 0; i < parties_.size(); ++i) {
    const auto outer = numbers_.find(parties_[i].process.job);
    if (outer != numbers_.end() && outer->second != i) parties_[outer->second].commands.push_back(i);
  }
}

const lock_state* wait_graph::find(const std::string& name) const {
  const auto found = positions_.find(name);
  return found == positions_.end() ? nullptr : &locks_[found->second];
}

const party& wait_graph::party_of(const claim_state& claim) const {
  return parties_[numbers_.at(identity_of(claim))];
}

std::vector<claim_on> wait_graph::all_waits(const party& of) const {
  std::vector<claim_on> result = of.waits;
  std::vector<index> below = of.commands;
  std::set<index> seen;  // whoever writes claims may say that two processes run one another
  while (!below.empty()) {
    const index next = below.back();
    below.pop_back();
    if (!seen.insert(next).second) continue;
    const party& command = parties_[next];
    result.insert(result.end(), command.waits.begin(), command.waits.end());
    below.insert(below.end(), command.commands.begin(), command.commands.end());
  }
  return result;
}

std::vector<wait_graph::index> wait_graph::blockers(index lock, index waiter, const flags& stuck) const {
  const lock_state& state = locks_[lock];
  const parties_of_lock& members = members_[lock];
  const claim_state& claim = state.waiters[waiter];
  const index own = members.waiters[waiter];
  const auto blocks = [&](const claim_state& before, index party) {
    return stuck[party] && party != own && !before.claimant.released && excludes(before, claim);
  };
  std::vector<index> result;
  std::int64_t taken = 0;
  for (index i = 0; i < state.holders.size(); ++i) {
    if (!blocks(state.holders[i], members.holders[i])) continue;
    result.push_back(members.holders[i]);
    taken += state.holders[i].permits;
  }
  if (claim.mode == mode::permits && taken + claim.permits <= state.capacity) result.clear();
  // The first one in the queue stands for all before this one: they wait for the same.
  for (index i = 0; i < waiter && result.empty(); ++i) {
    if (blocks(state.waiters[i], members.waiters[i])) result.push_back(members.waiters[i]);
  }
  return result;
}

std::vector<wait_graph::index> wait_graph::blockers_of(index party, const flags& stuck) const {
  std::vector<index> result;
  for (const index command : parties_[party].commands) {
    if (stuck[command]) result.push_back(command);
  }
  for (const auto& wait : parties_[party].waits) {
    const auto some = blockers(positions_.at(wait.name), wait.place - 1, stuck);
    result.insert(result.end(), some.begin(), some.end());
  }
  return result;
}

bool wait_graph::can_go_on(index party, const flags& stuck) const {
  const auto& commands = parties_[party].commands;
  const auto is_stuck = [&](index command) { return stuck[command]; };
  if (std::any_of(commands.begin(), commands.end(), is_stuck)) return false;
  const auto& waits = parties_[party].waits;
  return waits.empty() || std::any_of(waits.begin(), waits.end(), [&](const claim_on& wait) {
           return blockers(positions_.at(wait.name), wait.place - 1, stuck).empty();
         });
}

wait_graph::flags wait_graph::reduced() const {
  flags stuck(parties_.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (index i = 0; i < parties_.size(); ++i) {
      if (!stuck[i] || !can_go_on(i, stuck)) continue;
      stuck[i] = false;
      changed = true;
    }
  }
  return stuck;
}

void wait_graph::leave_out_mere_waiters(flags& stuck) const {
  for (bool changed = true; changed;) {
    changed = false;
    flags needed(parties_.size(), false);
    for (index i = 0; i < parties_.size(); ++i) {
      if (!stuck[i]) continue;
      for (const index blocker : blockers_of(i, stuck)) needed[blocker] = true;
    }
    for (index i = 0; i < parties_.size(); ++i) {
      if (!stuck[i] || needed[i]) continue;
      stuck[i] = false;
      changed = true;
    }
  }
}

std::vector<std::vector<const party*>> wait_graph::deadlocks() const {
  flags stuck = reduced();
  leave_out_mere_waiters(stuck);
  // Parties that wait for one another, in whatever direction, belong to one deadlock.
  std::vector<std::vector<index>> neighbours(parties_.size());
  for (index i = 0; i < parties_.size(); ++i) {
    if (!stuck[i]) continue;
    for (const index blocker : blockers_of(i, stuck)) {
      neighbours[i].push_back(blocker);
      neighbours[blocker].push_back(i);
    }
  }
  std::vector<std::vector<const party*>> result;
  for (index first = 0; first < parties_.size(); ++first) {
    if (!stuck[first]) continue;
    std::vector<index> members{first};
    stuck[first] = false;
    for (index at = 0; at < members.size(); ++at) {
      for (const index next : neighbours[members[at]]) {
        if (!stuck[next]) continue;
        stuck[next] = false;
        members.push_back(next);
      }
    }
    auto& deadlock = result.emplace_back();
    for (const index member : members) deadlock.push_back(&parties_[member]);
  }
  return result;
}

std::vector<lock_state> in_both(const std::vector<lock_state>& first, std::vector<lock_state> second) {
  for (auto& lock : second) {
    const auto former = std::find_if(first.begin(), first.end(),
                                     [&](const lock_state& each) { return each.name == lock.name; });
    const lock_state unknown;
    const lock_state& before = former == first.end() ? unknown : *former;
    keep_those_of(before.holders, lock.holders);
    keep_those_of(before.waiters, lock.waiters);
  }
  return second;
}

}  // namespace holdfast::cli
