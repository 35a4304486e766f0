// SPDX-License-Identifier: Apache-2.0
#include "simulation/election_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

std::string description(const candidate& leader) {
  return "'" + leader.value + "', token " + std::to_string(leader.token.value()) + ", revision " +
         std::to_string(leader.revision);
}

/// Others' clients, and users of the name as a mutex, write no host.
bool is_ours(const candidate& leader) { return !leader.process.host.empty(); }

}  // namespace

/// A store that has gone back to older contents may have forgotten what it had confirmed: this watch begins
/// anew. Answers to requests from before then come for a while.
bool election_watch::is_in_order() {
  constexpr auto latest_answer = 15s;
  const instant back = account_.went_back_at(election_name);
  if (back != forgotten_at_) {
    forgotten_at_ = back;
    newest_.reset();
    resigned_.clear();
    terms_.clear();
  }
  const bool is_calm = back == instant::min() || back + latest_answer < in_.now;
  return is_calm && !account_.is_suspect(election_name);
}

/// A leader of a former term may hear late of what was confirmed.
void election_watch::confirmed(position of) {
  in_.note("value confirmed", of.first.value(), of.second);
  if (is_in_order() && (!newest_ || *newest_ < of)) newest_ = of;
}

void election_watch::elected(const host& at, const lease_core::lease_record_ptr& lease) {
  confirmed({lease->hold.token, 0});
  if (!is_in_order()) return;
  std::erase_if(terms_,
                [](const term& t) { return t.at->life() != t.life || !t.lease->held_at(t.at->now()); });
  terms_.push_back({&at, at.life(), lease, in_.now});
}

void election_watch::resigned(const lease_core::lease_record& lease) {
  if (is_in_order()) resigned_.emplace(lease.hold.token, resignation{lease.hold.owner, in_.now});
}

election_watch::look election_watch::begin_look() {
  const bool is_known = is_in_order();
  return {in_.now, forgotten_at_, is_known ? newest_ : std::nullopt};
}

void election_watch::require_proclaimed(const candidate& leader) {
  if (!is_ours(leader)) return;
  const auto known = revisions_.find(leader.value);
  if (known == revisions_.end() || known->second != leader.revision) {
    in_.violated("a value is shown that nobody has proclaimed: " + description(leader));
  }
}

void election_watch::require_leaders_shown(const look& from, const std::optional<candidate>& leader) {
  for (const term& t : terms_) {
    const bool leads = t.since <= from.began && t.at->life() == t.life && t.lease->held_at(t.at->now());
    if (leads && (!leader || leader->token != t.lease->hold.token)) {
      in_.violated("a leader is not shown: token " + std::to_string(t.lease->hold.token.value()));
    }
  }
}

void election_watch::end_look(const look& from, const std::optional<candidate>& leader, bool is_sure) {
  in_.note("looked", leader ? leader->token.value() : 0, leader ? leader->revision : 0);
  if (leader) require_proclaimed(*leader);
  if (!is_in_order() || from.forgotten_at != forgotten_at_) return;
  if (is_sure) require_leaders_shown(from, leader);
  if (!leader || !leader->token) return;  // of a client of others
  const position shown{leader->token, leader->revision};
  if (from.newest && shown < *from.newest) {
    in_.violated("a look shows less than was confirmed before: " + description(*leader));
  }
  const auto gone = resigned_.find(leader->token);
  if (gone == resigned_.end() || gone->second.confirmed > from.began) return;
  // A try of its claim that is carried out late queues it anew, until its ttl.
  const owner_id& owner = gone->second.owner;
  if (!account_.is_kept_late(owner) && !account_.may_be_back(owner)) {
    in_.violated("a look shows a leader that has resigned: " + description(*leader));
  }
}

/// An observer may go back to a leader that has outlived its ttl, where the store has gone back: see
/// store::leader_tracker.
void election_watch::reported(const host& at, reports& before, const observation& now) {
  in_.note("observed", at.number(), now.leader ? now.leader->token.value() : 0,
           now.failed   ? 1
           : now.leader ? now.leader->revision
                        : 0);
  if (now.failed) return;
  before.leader = now.leader;
  if (!now.leader) return;
  require_proclaimed(*now.leader);
  if (!now.leader->token) return;
  constexpr auto shortest_doubt = 1s;
  const position shown{now.leader->token, now.leader->revision};
  const bool is_known = is_in_order();
  const bool has_gone_back = !is_known || before.forgotten_at != forgotten_at_;
  if (shown < before.newest) {
    if (at.now() < before.newest_at + shortest_doubt) {
      in_.violated("an older leader is shown after a newer one: " + description(*now.leader));
    } else if (!has_gone_back) {
      in_.violated("an observer goes back, and the store has not: " + description(*now.leader));
    }
  }
  if (shown == before.newest) return;  // again after a failure, of a look that was before that
  before.newest = shown;
  before.newest_at = at.now();
  before.forgotten_at = is_known ? forgotten_at_ : never;
}

}  // namespace holdfast::sim
