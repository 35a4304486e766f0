#include "stores/redis/protocol/replies.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metadata.hpp"

namespace holdfast::redis {

using tickets::count;
using tickets::done;
using tickets::kept;
using tickets::nothing;
using tickets::other_capacity;
using tickets::place;
using tickets::refused;
using tickets::reply;
using tickets::task;

namespace {

using milliseconds = std::chrono::milliseconds;

constexpr std::string_view marker = "holdfast:shared";

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

/// acquire.lua and look.lua: a token, {granted, token, head, left, silent}, {2}, or {3, room}
reply place_in(const value& v) {
  if (v.is(value::kind::null)) return nothing{};
  if (v.is(value::kind::text)) return place{token_of(v.text), true, false, {}, false};
  const std::int64_t outcome = number_of(item(v, 0));
  if (outcome == 2) return refused{};
  if (outcome == 3) return other_capacity{number_of(item(v, 1))};
  if (outcome != 0 && outcome != 1) throw misunderstood{};
  place at;
  at.token = token_of(text_of(item(v, 1)));
  at.granted = outcome == 1;
  at.head = number_of(item(v, 2)) != 0;
  const milliseconds left = time_of(item(v, 3));
  if (left >= milliseconds::zero()) at.holder_left = left;
  at.silent = number_of(item(v, 4)) != 0;
  return at;
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

/// A claim in the server's format, without its first character: "token since client weight ttl metadata".
struct recorded {
  fencing_token token;
  std::chrono::microseconds since{};
  std::int64_t weight = 0;
  std::string_view metadata;
};

std::string_view take_field(std::string_view& text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos) throw misunderstood{};
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(end + 1);
  return field;
}

recorded recorded_in(std::string_view text) {
  recorded r;
  r.token = token_of(take_field(text));
  r.since = bounded<std::chrono::microseconds>(number_in<std::int64_t>(take_field(text)));
  take_field(text);  // its client
  r.weight = number_in<std::int64_t>(take_field(text));
  take_field(text);  // its ttl
  r.metadata = text;
  return r;
}

claim_state claim_of(std::string owner, const recorded& r, std::int64_t capacity, milliseconds now,
                     milliseconds left) {
  claim_state c;
  c.owner = std::move(owner);
  c.mode = store::mode_of(r.weight, capacity);
  c.permits = c.mode == mode::permits ? r.weight : 0;
  c.token = r.token;
  c.age = std::max<duration>(duration::zero(), now - r.since);
  c.expires_in = left;
  c.claimant = from_metadata(r.metadata);
  return c;
}

/// The lock's only holder: a Holdfast client if the fence knows it, else a foreign client.
claim_state lone_holder(const std::string& owner, std::string_view known, milliseconds now,
                        milliseconds left) {
  if (known.starts_with(owner + ' ')) {
    known.remove_prefix(owner.size() + 1);
    return claim_of(owner, recorded_in(known), store::full_capacity, now, left);
  }
  claim_state foreign;
  foreign.owner = owner;
  foreign.claimant = from_metadata(owner);  // the only data of a foreign holder
  foreign.expires_in = std::max(milliseconds::zero(), left);
  return foreign;
}

}  // namespace

std::optional<lock_state> state_of(std::string name, const value& v) {
  const milliseconds now = time_of(item(v, 0));
  const value& fence = item(v, 1);
  const value& lock = item(v, 2);
  const auto& claims = items_of(item(v, 4));
  if (fence.is(value::kind::null) && lock.is(value::kind::null) && claims.empty()) return std::nullopt;

  lock_state state;
  state.name = std::move(name);
  std::string_view known;  // "owner claim" of the last exclusive holder
  if (!fence.is(value::kind::null)) {
    known = text_of(fence);
    const std::string_view last = known.substr(0, known.find(' '));
    known.remove_prefix(std::min(last.size() + 1, known.size()));
    state.last_token = token_of(last);
  }
  if (!lock.is(value::kind::null) && text_of(lock) != marker) {
    state.holders.push_back(lone_holder(lock.text, known, now, time_of(item(v, 3))));
  }

  std::map<std::string, std::string, std::less<>> fields;
  for (std::size_t i = 0; i + 1 < claims.size(); i += 2) fields[text_of(claims[i])] = text_of(claims[i + 1]);
  const std::int64_t capacity =
      fields.contains("room") ? number_in<std::int64_t>(fields["room"]) : store::full_capacity;
  state.capacity = capacity == store::full_capacity ? 0 : capacity;
  std::map<std::string, milliseconds, std::less<>> ends;
  const auto& expiries = items_of(item(v, 6));
  for (std::size_t i = 0; i + 1 < expiries.size(); i += 2)
    ends[text_of(expiries[i])] = time_of(expiries[i + 1]);

  const auto add = [&](const std::string& owner) {
    const auto entry = fields.find(owner);
    const auto end = ends.find(owner);
    if (entry == fields.end() || end == ends.end() || end->second <= now) return;
    const std::string_view claim = entry->second;
    auto& side = claim.starts_with('h') ? state.holders : state.waiters;
    side.push_back(claim_of(owner, recorded_in(claim.substr(1)), capacity, now, end->second - now));
  };
  for (const value& owner : items_of(item(v, 5))) {
    add(text_of(owner));
    ends.erase(owner.text);
  }
  for (const auto& [owner, end] : ends) add(owner);
  std::sort(state.holders.begin(), state.holders.end(),
            [](const claim_state& a, const claim_state& b) { return a.token < b.token; });
  return state;
}

tickets::link::outcome outcome_of(const tickets::request& request, const value& v) {
  switch (request.kind) {
    case task::acquire:
    case task::find:
    case task::look: {
      reply r = place_in(v);
      // An acquisition cannot use the answer of another script.
      const bool none = std::holds_alternative<nothing>(r);
      const bool fits = std::holds_alternative<place>(r) || (request.kind == task::acquire) != none;
      if (!fits) throw misunderstood{};
      return r;
    }
    case task::renew: return reply{kept_in(v, request.batch.size())};
    case task::release:
    case task::withdraw:
    case task::downgrade: return number_of(v) != 0 ? reply{done{}} : reply{nothing{}};
    case task::force_release:
      if (v.is(value::kind::list) && v.items.size() == 1) {
        return store::request_error{
            {errc::wrong_type,
             "a client of another library holds the lock, and Holdfast leaves its key "
             "alone; delete the key if no program works under that lock"}};
      }
      return reply{count{static_cast<std::size_t>(number_of(v))}};
    case task::inspect: return reply{state_of(request.name, v)};
    case task::list: break;
  }
  throw misunderstood{};
}

}  // namespace holdfast::redis
