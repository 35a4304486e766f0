// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/replies.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/metadata.hpp"

namespace holdfast::redis {

using tickets::count;
using tickets::done;
using tickets::kept;
using tickets::nothing;
using tickets::other_capacity;
using tickets::paused;
using tickets::place;
using tickets::refused;
using tickets::reply;

namespace {

using milliseconds = std::chrono::milliseconds;

constexpr std::string_view marker = "holdfast:shared ";  // then how much is held, and of how much

template <class Number>
Number number_in(std::string_view text) {
  Number n{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc{} || end != text.data() + text.size() || text.empty()) throw misunderstood{};
  return n;
}

std::int64_t number_of(const value& v) {
  if (v.is(value::kind::number)) return v.number;
  if (v.is(value::kind::text)) return number_in<std::int64_t>(v.text);
  throw misunderstood{};
}

/// Limits a number from the server, which is not trusted, to two centuries in any unit.
template <class Unit>
Unit bounded(std::int64_t n) {
  constexpr Unit for_ever = std::chrono::years{200};
  return std::clamp(Unit{n}, -for_ever, for_ever);
}
milliseconds time_of(const value& v) { return bounded<milliseconds>(number_of(v)); }

const std::string& text_of(const value& v) {
  if (!v.is(value::kind::text)) throw misunderstood{};
  return v.text;
}

const std::vector<value>& items_of(const value& v) {
  if (!v.is(value::kind::list)) throw misunderstood{};
  return v.items;
}

const value& item(const value& list, std::size_t i) {
  const auto& items = items_of(list);
  if (i >= items.size()) throw misunderstood{};
  return items[i];
}

fencing_token token_of(std::string_view text) { return fencing_token{number_in<std::uint64_t>(text)}; }

/// {granted, token, head, left, silent}
place standing_of(const value& v) {
  place at;
  at.granted = number_of(item(v, 0)) != 0;
  at.token = token_of(text_of(item(v, 1)));
  at.head = number_of(item(v, 2)) != 0;
  const milliseconds left = time_of(item(v, 3));
  if (left >= milliseconds::zero()) at.holder_left = left;
  at.silent = number_of(item(v, 4)) != 0;
  return at;
}

/// acquire.lua and look.lua: a token, {granted, token, head, left, silent}, {2}, {3, capacity}, or {4}
reply place_in(const value& v) {
  if (v.is(value::kind::null)) return nothing{};
  if (v.is(value::kind::text)) return place{token_of(v.text), true, false, {}, false};
  const std::int64_t outcome = number_of(item(v, 0));
  if (outcome == 2) return refused{};
  if (outcome == 3) return other_capacity{number_of(item(v, 1))};
  if (outcome == 4) return paused{{errc::unavailable, "the server grants nothing now"}};
  if (outcome != 0 && outcome != 1) throw misunderstood{};
  return standing_of(v);
}

/// lua/quorum/vote.lua: {1, token, accepted, fence, grant, overtaken, clock}, {0, token, head, left, silent,
/// blocker, clock}, {2, blocker, clock}, {3, capacity}, or {4}
reply vote_in(const value& v) {
  if (v.is(value::kind::null)) return nothing{};
  const std::int64_t outcome = number_of(item(v, 0));
  const auto clock_of = [](const value& clock) {
    return bounded<std::chrono::microseconds>(number_of(clock));
  };
  tickets::ballot vote;
  switch (outcome) {
    case 0: {
      place at = standing_of(v);
      vote.blocker = text_of(item(v, 5));
      vote.clock = clock_of(item(v, 6));
      at.vote = std::move(vote);
      return at;
    }
    case 1: {
      place at;
      at.token = token_of(text_of(item(v, 1)));
      at.granted = true;
      vote.accepted = token_of(text_of(item(v, 2)));
      vote.fence = token_of(text_of(item(v, 3)));
      vote.grant = token_of(text_of(item(v, 4))).value();
      vote.is_overtaken = number_of(item(v, 5)) != 0;
      vote.clock = clock_of(item(v, 6));
      at.vote = std::move(vote);
      return at;
    }
    case 2:
      vote.blocker = text_of(item(v, 1));
      vote.clock = clock_of(item(v, 2));
      return refused{std::move(vote)};
    default: return place_in(v);
  }
}

/// renew.lua: "110..."
kept kept_in(const value& v, std::size_t holds) {
  const std::string& digits = text_of(v);
  if (digits.size() != holds) throw misunderstood{};
  kept k;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    k.each.push_back(digits[i] == '1');
    if (digits[i] == '2') k.unsure.push_back(i);
  }
  return k;
}

/// A claim in the server's format: "token owner since client weight capacity ttl metadata".
struct recorded {
  fencing_token token;
  std::string_view owner;
  std::chrono::microseconds since{};
  std::int64_t weight = 0;
  std::int64_t capacity = 0;
  std::string_view metadata;
  std::optional<fencing_token> accepted;  // at one of several servers; see lua/quorum/grant.lua
};

std::string_view take_field(std::string_view& text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos) throw misunderstood{};
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(end + 1);
  return field;
}

/// What claims.lua takes for a claim; empty for any other text.
std::optional<recorded> recorded_in(std::string_view text) {
  constexpr std::size_t token_size = 20;
  constexpr std::size_t owner_size = 32;
  try {
    recorded r;
    const std::string_view token = take_field(text);
    r.owner = take_field(text);
    if (token.size() != token_size || r.owner.size() != owner_size) return std::nullopt;
    r.token = token_of(token);
    r.since = bounded<std::chrono::microseconds>(number_in<std::int64_t>(take_field(text)));
    take_field(text);  // its client
    r.weight = number_in<std::int64_t>(take_field(text));
    r.capacity = number_in<std::int64_t>(take_field(text));
    take_field(text);  // its ttl
    if (text.starts_with('=')) {
      const std::string_view accepted = take_field(text).substr(1);
      r.accepted = token_of(accepted.substr(0, accepted.find('/')));
    }
    r.metadata = text;
    return r;
  } catch (const misunderstood&) {
    return std::nullopt;
  }
}

/// The token of a claim. One of several servers that has granted a claim and has accepted no number of it has
/// no token for the hold, unless the holder has said which it is.
fencing_token token_in(const recorded& r, bool holds) {
  if (!r.accepted) return r.token;
  if (holds) return std::max(*r.accepted, hold_token_in(r.metadata));
  return *r.accepted ? *r.accepted : r.token;
}

claim_state claim_of(const recorded& r, milliseconds now, milliseconds left, bool holds) {
  claim_state c;
  c.owner = r.owner;
  c.mode = store::mode_of(r.weight, r.capacity);
  c.permits = c.mode == mode::permits ? r.weight : 0;
  c.token = token_in(r, holds);
  c.age = std::max<duration>(duration::zero(), now - r.since);
  c.expires_in = std::max(milliseconds::zero(), left);  // -1: its key has no end
  c.claimant = from_metadata(r.metadata);
  return c;
}

constexpr std::size_t longest_shown = 256;  // bytes of a foreign value
constexpr std::size_t longest_metadata = std::size_t{64} * 1024;

/// The lock's only holder: a Holdfast client if the value is a claim, else a foreign client.
claim_state lone_holder(const std::string& value, milliseconds now, milliseconds left) {
  if (const auto r = recorded_in(value)) return claim_of(*r, now, left, true);
  claim_state foreign;
  // The value is the only data of a foreign holder, and may be of any size.
  foreign.owner = value.substr(0, longest_shown);
  if (value.size() <= longest_metadata) foreign.claimant = from_metadata(value);
  std::string& label = foreign.claimant.label;
  label = value.size() <= longest_metadata ? label.substr(0, longest_shown) : foreign.owner;
  foreign.expires_in = std::max(milliseconds::zero(), left);
  return foreign;
}

/// The claims of a set that have not ended, in the order of their tokens.
/// \param set see inspect.lua.
std::vector<claim_state> living_claims(const value& set, milliseconds now, bool holds,
                                       std::int64_t& capacity) {
  const auto& members = items_of(set);
  std::vector<claim_state> claims;
  for (std::size_t i = 2; i + 1 < members.size(); i += 2) {
    const auto r = recorded_in(text_of(members[i]));
    const milliseconds end = -time_of(members[i + 1]);
    if (!r || end <= now) continue;
    capacity = r->capacity;
    claims.push_back(claim_of(*r, now, end - now, holds));
  }
  return claims;
}

claim_cursor cursor_in(const value& set) {
  return {text_of(item(set, 0)), std::max(std::int64_t{0}, number_of(item(set, 1)))};
}

std::uint64_t count_in(const value& v) {
  return static_cast<std::uint64_t>(std::max(std::int64_t{0}, number_of(v)));
}

}  // namespace

inspected_part part_of(std::string name, const value& v) {
  const milliseconds now = time_of(item(v, 0));
  const value& fence = item(v, 1);
  const value& lock = item(v, 2);
  const value& waiters = item(v, 4);
  const value& holders = item(v, 5);
  inspected_part part;
  part.now = now;
  part.waiters = count_in(item(v, 6));
  part.holders = count_in(item(v, 7));
  part.next_waiter = cursor_in(waiters);
  part.next_holder = cursor_in(holders);
  if (fence.is(value::kind::null) && lock.is(value::kind::null) && part.waiters == 0) return part;

  lock_state& state = part.state.emplace();
  state.name = std::move(name);
  if (!fence.is(value::kind::null)) {
    const std::string_view known = text_of(fence);
    state.last_token = token_of(known.substr(0, known.find(' ')));
  }
  std::int64_t capacity = store::full_capacity;
  state.waiters = living_claims(waiters, now, false, capacity);
  state.holders = living_claims(holders, now, true, capacity);
  state.capacity = capacity == store::full_capacity ? 0 : capacity;
  if (!lock.is(value::kind::null) && !text_of(lock).starts_with(marker)) {
    state.holders.insert(state.holders.begin(), lone_holder(lock.text, now, time_of(item(v, 3))));
    ++part.holders;
    part.alone = 1;
  }
  return part;
}

namespace {

/// An acquisition cannot use the answer of another script.
reply standing_in(reply r, bool may_be_gone) {
  const bool is_gone = std::holds_alternative<nothing>(r);
  if (!std::holds_alternative<place>(r) && is_gone != may_be_gone) throw misunderstood{};
  return r;
}

tickets::link::outcome holds_in(const value& v, const char* foreign) {
  if (v.is(value::kind::list) && v.items.size() == 1)
    return store::request_error{{errc::wrong_type, foreign}};
  return reply{count{static_cast<std::size_t>(number_of(v))}};
}

constexpr const char* cannot_be_asked = "a client of another library holds the lock, which cannot be asked";
constexpr const char* is_left_alone =
    "a client of another library holds the lock, and Holdfast leaves its key alone; delete the key if no "
    "program works under that lock";

/// The outcome of each request.
struct reader {
  using outcome = tickets::link::outcome;
  const value& v;

  outcome operator()(const tickets::request& r) const { return std::visit(*this, r); }
  outcome operator()(const tickets::acquire& /*r*/) const { return standing_in(place_in(v), false); }
  outcome operator()(const tickets::find& /*r*/) const { return standing_in(place_in(v), true); }
  outcome operator()(const tickets::look& /*r*/) const { return standing_in(place_in(v), true); }
  outcome operator()(const ballots::vote& /*r*/) const { return standing_in(vote_in(v), false); }
  outcome operator()(const ballots::yield& /*r*/) const { return standing_in(vote_in(v), true); }
  outcome operator()(const ballots::accept& /*r*/) const { return standing_in(vote_in(v), true); }
  outcome operator()(const tickets::renew& r) const { return reply{kept_in(v, r.holds.size())}; }
  outcome operator()(const store::hold& /*changed*/) const { return change(); }
  outcome operator()(const ballots::retract& /*r*/) const { return change(); }
  outcome operator()(const tickets::request_release& /*r*/) const { return holds_in(v, cannot_be_asked); }
  outcome operator()(const ballots::ask_owner& /*r*/) const { return holds_in(v, cannot_be_asked); }
  outcome operator()(const tickets::force_release& /*r*/) const { return holds_in(v, is_left_alone); }
  outcome operator()(const ballots::end_hold& /*r*/) const { return holds_in(v, is_left_alone); }
  outcome operator()(const tickets::acquire_all& r) const {
    return several_in(r.claims.size(), [](const value& each) { return standing_in(place_in(each), false); });
  }
  outcome operator()(const tickets::release_all& r) const { return several_in(r.holds.size(), ended_in); }
  outcome operator()(const tickets::inspect& /*r*/) const { throw misunderstood{}; }
  outcome operator()(const tickets::list& /*r*/) const { throw misunderstood{}; }

 private:
  static reply ended_in(const value& each) { return number_of(each) != 0 ? reply{done{}} : reply{nothing{}}; }
  [[nodiscard]] outcome change() const { return ended_in(v); }
  template <class AnswerIn>
  [[nodiscard]] outcome several_in(std::size_t most, const AnswerIn& answer_in) const {
    tickets::several answers;
    if (items_of(v).size() > most) throw misunderstood{};
    for (const value& each : items_of(v)) {
      if (!append(answers, answer_in(each))) break;
    }
    return reply{std::move(answers)};
  }
};

}  // namespace

tickets::link::outcome outcome_of(const ballots::request& request, const value& v) {
  return std::visit(reader{v}, request);
}

/// Redis 6 wraps the errors of a script: "ERR Error running script (...): @user_script:12: READONLY ...".
bool is_from_replica(const value& reply) {
  if (reply.is(value::kind::error)) return reply.text.find("READONLY ") != std::string::npos;
  return std::any_of(reply.items.begin(), reply.items.end(), is_from_replica);
}

}  // namespace holdfast::redis
