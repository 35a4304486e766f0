// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/protocol/shared_view.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/owner_id.hpp"
#include "stores/quorum/protocol/problem_list.hpp"

namespace holdfast::quorum {

namespace {

/// A claim, as several servers have it.
struct sighting {
  claim_state claim;
  std::size_t holds = 0;                          // at so many servers
  std::map<fencing_token, std::size_t> accepted;  // as its token, by servers where it holds
  std::vector<fencing_token> of_others;           // last tokens where it holds without one
};

/// Whether a server has granted the claim, and has accepted no number as its token. A client of another
/// library has no token either: its text is the owner, and all that is known of it.
bool lacks_token(const claim_state& hold) {
  return !hold.token && hold.claimant.label != hold.owner && owner_id::from_hex(hold.owner);
}

/// \param last_token of the server that says so.
void see(std::map<std::string, sighting>& all, const claim_state& one, bool holds, fencing_token last_token) {
  sighting& seen = all[one.owner];
  const bool is_better = seen.claim.owner.empty() || (holds && seen.holds == 0);
  const fencing_token token = std::max(seen.claim.token, one.token);
  const duration left = std::max(seen.claim.expires_in, one.expires_in);
  if (is_better) seen.claim = one;
  if (holds || seen.holds == 0) seen.claim.token = token;
  seen.claim.expires_in = left;
  // A server that was out of reach has a former value of a leader, and what was asked of that.
  claimant& shown = seen.claim.claimant;
  if (one.claimant.value_revision > shown.value_revision) shown = one.claimant;
  if (one.claimant.value_revision == shown.value_revision && !shown.release_request) {
    shown.release_request = one.claimant.release_request;
  }
  if (one.claimant.released) shown.released = true;
  if (!holds) return;
  ++seen.holds;
  if (lacks_token(one)) {
    seen.of_others.push_back(last_token);
  } else {
    ++seen.accepted[one.token];
  }
}

/// The token of a claim that a majority has granted: the one that a majority has accepted or was told, or
/// that alone has been, since a server that forgot a hold and got it back has no token for it. Empty where it
/// may not hold yet: a server that has granted it has a fence that is no smaller, so another number will be
/// proposed.
std::optional<fencing_token> token_of(const sighting& of, std::size_t majority) {
  if (of.holds < majority) return std::nullopt;
  const auto agreed_on = std::find_if(of.accepted.begin(), of.accepted.end(),
                                      [&](const auto& each) { return each.second >= majority; });
  if (agreed_on != of.accepted.end()) return agreed_on->first;
  if (of.accepted.size() != 1) return std::nullopt;
  const fencing_token alone = of.accepted.begin()->first;
  const bool is_refused = std::any_of(of.of_others.begin(), of.of_others.end(),
                                      [alone](fencing_token fence) { return fence >= alone; });
  return is_refused ? std::nullopt : std::optional{alone};
}

/// The largest number that at least `majority` of them reach.
std::uint64_t agreed(std::vector<std::uint64_t> numbers, std::size_t majority) {
  if (numbers.size() < majority) return 0;
  std::sort(numbers.begin(), numbers.end(), std::greater<>{});
  return numbers[majority - 1];
}

template <class Answer>
std::vector<server_note> notes_of_unheard(const std::vector<answer_of<Answer>>& answers) {
  std::vector<server_note> notes;
  for (const auto& each : answers)
    if (!each.said) notes.push_back({each.server, each.problem, false});
  return notes;
}

bool has_hold_of(const lock_state& state, const std::string& owner) {
  return std::any_of(state.holders.begin(), state.holders.end(),
                     [&](const claim_state& each) { return each.owner == owner; });
}

std::string text_of(const claim_state& claim) {
  if (lacks_token(claim)) return "a claim without a token";
  if (!claim.token) return "another library's client";
  return "the claim " + std::to_string(claim.token.value());
}

/// In what a server differs from the majority. A difference that stands for less than a round trip is usual.
void add_differences(lock_state& all, const std::string& server, const lock_state& state) {
  const auto note = [&](std::string text) { all.notes.push_back({server, std::move(text), true}); };
  for (const claim_state& each : all.holders)
    if (!has_hold_of(state, each.owner)) note("does not have the hold of " + text_of(each));
  for (const claim_state& each : state.holders)
    if (!has_hold_of(all, each.owner)) note("has a hold of " + text_of(each) + ", which has no majority");
  if (!state.pause_reason.empty() && all.pause_reason.empty())
    note(without_place(server, state.pause_reason));
}

}  // namespace

std::optional<lock_state> view_of(const std::string& name, const state_answers& answers,
                                  std::size_t majority) {
  lock_state all;
  all.name = name;
  std::map<std::string, sighting> seen;
  bool is_known = false;
  std::vector<std::uint64_t> pauses;
  std::vector<std::uint64_t> tokens;
  for (const auto& from : answers) {
    if (!from.said || !*from.said) continue;
    const lock_state& view = **from.said;
    is_known = true;
    tokens.push_back(view.last_token.value());
    pauses.push_back(static_cast<std::uint64_t>(view.paused_for.count()));
    if (view.paused_for > all.paused_for) {
      all.paused_for = view.paused_for;
      all.pause_reason = with_place(from.server, view.pause_reason);
    }
    for (const claim_state& each : view.holders) see(seen, each, true, view.last_token);
    for (const claim_state& each : view.waiters) see(seen, each, false, view.last_token);
  }
  all.notes = notes_of_unheard(answers);
  if (!is_known && all.notes.empty()) return std::nullopt;
  if (agreed(std::move(pauses), majority) == 0) {
    all.paused_for = {};
    all.pause_reason.clear();
  }
  for (auto& [owner, each] : seen) {
    const auto token = token_of(each, majority);
    if (token) each.claim.token = *token;
    (token ? all.holders : all.waiters).push_back(each.claim);
  }
  const auto by_token = [](const claim_state& a, const claim_state& b) {
    return std::pair{a.token, std::string_view{a.owner}} < std::pair{b.token, std::string_view{b.owner}};
  };
  std::sort(all.holders.begin(), all.holders.end(), by_token);
  std::sort(all.waiters.begin(), all.waiters.end(), by_token);
  // A server that had forgotten its tokens knows a number of its clock that nobody has drawn.
  all.last_token = fencing_token{agreed(std::move(tokens), majority)};
  if (!all.holders.empty()) all.last_token = std::max(all.last_token, all.holders.back().token);
  for (const auto& each : answers)
    if (each.said) add_differences(all, each.server, each.said->value_or(lock_state{}));
  return all;
}

namespace {

/// Whether two servers may mean one hold: that of a process with one token, or with none at one of them,
/// which has granted the claim and has not accepted its token.
bool is_same_hold(const lock_summary& a, const lock_summary& b) {
  const auto claims = [](const lock_summary& of) {
    return std::tie(of.holder.host, of.holder.pid, of.holder.program, of.holder.label);
  };
  const bool has_same_token = !a.holder_token || !b.holder_token || a.holder_token == b.holder_token;
  return a.holders != 0 && b.holders != 0 && has_same_token && claims(a) == claims(b);
}

/// The oldest hold that most servers have, and of two that equally many have the later one.
struct common_hold {
  const lock_summary* seen = nullptr;  // null: nobody holds at any server
  std::size_t servers = 0;             // that have it
};
common_hold common_hold_in(const std::vector<const lock_summary*>& views) {
  common_hold best;
  for (const lock_summary* each : views) {
    if (each->holders == 0) continue;
    const auto servers =
        static_cast<std::size_t>(std::count_if(views.begin(), views.end(), [each](const lock_summary* other) {
          return is_same_hold(*each, *other);
        }));
    const bool is_later = best.seen == nullptr || each->holder_token > best.seen->holder_token;
    if (servers > best.servers || (servers == best.servers && is_later)) best = {each, servers};
  }
  return best;
}

/// Where the views of a name agree. Of readers each server may have another oldest one: what a majority has
/// is their number.
lock_summary summary_of(const std::vector<const lock_summary*>& views, std::size_t majority) {
  std::vector<std::uint64_t> holders;
  std::vector<std::uint64_t> tokens;
  std::uint64_t waiters = 0;
  std::uint64_t most_holders = 0;
  for (const lock_summary* each : views) {
    holders.push_back(each->holders);
    tokens.push_back(each->last_token.value());
    waiters = std::max(waiters, each->waiters);
    most_holders = std::max(most_holders, each->holders);
  }
  const common_hold hold = common_hold_in(views);
  lock_summary one = hold.seen != nullptr ? *hold.seen : *views.front();
  const bool has_majority = one.mode == mode::shared || hold.servers >= majority;
  one.waiters = waiters;
  one.holders = has_majority ? agreed(std::move(holders), majority) : 0;
  if (one.holders == 0 && most_holders != 0) {
    one.waiters = std::max(one.waiters, most_holders);  // they have no majority yet
    one.held_for = {};
    one.holder_token = {};
    one.holder = {};
  }
  one.last_token = std::max(fencing_token{agreed(std::move(tokens), majority)}, one.holder_token);
  return one;
}

}  // namespace

std::vector<lock_summary> view_of(const listings& answers, std::size_t majority, bool idle) {
  std::map<std::string, std::vector<const lock_summary*>> by_name;
  for (const auto& listing : answers) {
    if (!listing.said) continue;
    for (const lock_summary& each : *listing.said) by_name[each.name].push_back(&each);
  }
  const std::vector<server_note> notes = notes_of_unheard(answers);
  std::vector<lock_summary> all;
  for (const auto& [name, views] : by_name) {
    lock_summary one = summary_of(views, majority);
    one.notes = notes;
    if (idle || one.holders != 0 || one.waiters != 0) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace holdfast::quorum
