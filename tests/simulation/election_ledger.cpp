#include "simulation/election_ledger.hpp"

#include <chrono>

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

/// What the store was asked for until then it may have confirmed and forgotten, or have shown again as it was
/// before. The time of the answer says less: the store may have gone back while that was under way.
bool election_ledger::went_back_since(instant when) const {
  return account_.is_suspect(election_name) || account_.went_back_at(election_name) >= when;
}

void election_ledger::confirmed(position of, instant requested_at) {
  in_.note("value confirmed", of.first.value(), of.second);
  // A leader of a former term may hear late of what was confirmed.
  if (newest_ && of < *newest_ && !went_back_since(newest_requested_at_)) return;
  newest_ = of;
  newest_requested_at_ = requested_at;
}

void election_ledger::elected(const host& at, const lease_core::lease_record_ptr& lease) {
  const instant requested_at = at.true_time_of(lease->deadline() - lease->ttl() + lease->margin);
  confirmed({lease->hold.token, 0}, requested_at);
  std::erase_if(terms_,
                [](const term& t) { return t.at->life() != t.life || !t.lease->held_at(t.at->now()); });
  terms_.push_back({&at, at.life(), lease, requested_at, in_.now});
}

void election_ledger::resigned(const lease_core::lease_record& lease, instant requested_at) {
  if (account_.is_kept_late(lease.hold.owner)) return;
  resigned_.emplace(lease.hold.token, resignation{lease.hold.owner, requested_at, in_.now});
}

void election_ledger::require_proclaimed(const candidate& leader) {
  if (!is_ours(leader)) return;
  const auto known = revisions_.find(leader.value);
  if (known == revisions_.end() || known->second != leader.revision) {
    in_.violated("a value is shown that nobody has proclaimed: " + description(leader));
  }
}

/// Who leads all the time while somebody looks is shown.
void election_ledger::require_leaders_shown(const look& from, const std::optional<candidate>& leader) {
  for (const term& t : terms_) {
    const bool leads = t.since <= from.began && t.at->life() == t.life && t.lease->held_at(t.at->now());
    if (!leads || went_back_since(t.requested_at) || account_.is_ended_by_hand(t.lease->hold.owner)) continue;
    if (!leader || leader->token != t.lease->hold.token) {
      in_.violated("a leader is not shown: token " + std::to_string(t.lease->hold.token.value()));
    }
  }
}

void election_ledger::end_look(const look& from, const std::optional<candidate>& leader, bool is_sure) {
  ++looks_;
  in_.note("looked", leader ? leader->token.value() : 0, leader ? leader->revision : 0);
  if (is_sure) require_leaders_shown(from, leader);
  if (!leader) return;
  require_proclaimed(*leader);
  if (!leader->token) return;  // of a client of others
  const position shown{leader->token, leader->revision};
  if (from.newest && shown < *from.newest && !went_back_since(from.newest_requested_at)) {
    in_.violated("a look shows less than was confirmed before: " + description(*leader));
  }
  const auto gone = resigned_.find(leader->token);
  // A try of its claim that is carried out late queues it anew, until its ttl.
  if (gone != resigned_.end() && gone->second.confirmed <= from.began &&
      !went_back_since(gone->second.requested_at) && !account_.may_be_back(gone->second.owner)) {
    in_.violated("a look shows a leader that has resigned: " + description(*leader));
  }
}

/// An observer may go back to a leader that has outlived its ttl, where the store has gone back: see
/// store::leader_tracker.
void election_ledger::reported(const host& at, reports& before, const observation& now) {
  ++before.count;
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
  constexpr auto longest_look = 10s;  // one that the newest was seen with
  const position shown{now.leader->token, now.leader->revision};
  if (shown < before.newest) {
    if (at.now() < before.newest_at + shortest_doubt) {
      in_.violated("an older leader is shown after a newer one: " + description(*now.leader));
    } else if (!went_back_since(before.newest_since - longest_look)) {
      in_.violated("an observer goes back, and the store has not: " + description(*now.leader));
    }
  }
  if (shown == before.newest) return;  // again after a failure, of a look that was before that
  before.newest = shown;
  before.newest_at = at.now();
  before.newest_since = in_.now;
}

}  // namespace holdfast::sim
