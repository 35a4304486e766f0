#include "stores/sql/protocol/rows.hpp"

#include "base/metadata.hpp"

namespace holdfast::sql {

using tickets::count;
using tickets::done;
using tickets::nothing;
using tickets::other_capacity;
using tickets::place;
using tickets::refused;
using tickets::reply;
using tickets::task;

std::int64_t number_at(const row& r, std::size_t column) {
  const auto* n = std::get_if<std::int64_t>(&r.at(column));
  return n != nullptr ? *n : 0;
}

std::string text_at(const row& r, std::size_t column) {
  const auto* t = std::get_if<std::string>(&r.at(column));
  return t != nullptr ? *t : std::string{};
}

namespace {

bool is_null(const row& r, std::size_t column) {
  return std::holds_alternative<std::monostate>(r.at(column));
}

fencing_token token(const row& r, std::size_t column) {
  return fencing_token{static_cast<std::uint64_t>(number_at(r, column))};
}

duration time(const row& r, std::size_t column) { return duration{number_at(r, column)}; }

std::optional<duration> time_if_any(const row& r, std::size_t column) {
  if (is_null(r, column)) return std::nullopt;
  return time(r, column);
}

/// capacity: token, head, held, holder_left, dead, other
reply placed(const tickets::request& request, const run& result) {
  const row& found = result.rows.at(0);
  if (!is_null(found, 5)) return other_capacity{number_at(found, 5)};
  if (!result.ended_at.empty()) return refused{};
  const bool head = number_at(found, 1) != 0;
  const bool fits = number_at(found, 2) + request.weight <= request.capacity;
  return place{token(found, 0), head && fits, head, time_if_any(found, 3)};
}

/// place: granted, head, holder_left
place position(const row& at, fencing_token own) {
  return {own, number_at(at, 0) != 0, number_at(at, 1) != 0, time_if_any(at, 2)};
}

}  // namespace

tickets::place place_from(const row& r, std::size_t first) {
  return {token(r, first), number_at(r, first + 1) != 0, number_at(r, first + 2) != 0,
          time_if_any(r, first + 3)};
}

/// inspect: token, granted, capacity, place, owner, weight, age, expires_in, metadata
std::optional<lock_state> state_of(const tickets::request& request, const std::vector<row>& rows) {
  if (rows.empty()) return std::nullopt;
  lock_state state;
  state.name = request.name;
  state.last_token = token(rows[0], 0);
  const std::int64_t granted = number_at(rows[0], 1);
  const std::int64_t capacity = number_at(rows[0], 2);
  state.capacity = capacity == store::full_capacity ? 0 : capacity;
  for (const row& r : rows) {
    if (is_null(r, 3)) continue;
    claim_state c;
    c.token = token(r, 3);
    if (const auto owner = owner_id::from_bytes(text_at(r, 4))) c.owner = owner->hex();
    c.mode = store::mode_of(number_at(r, 5), capacity);
    c.permits = c.mode == mode::permits ? number_at(r, 5) : 0;
    c.age = time(r, 6);
    c.expires_in = time(r, 7);
    c.claimant = from_metadata(text_at(r, 8));
    auto& side = number_at(r, 3) <= granted ? state.holders : state.waiters;
    side.push_back(std::move(c));
  }
  return state;
}

/// list: name, token, capacity, holders, waiters, weight, held_for, metadata, holder_token
std::vector<lock_summary> summaries(const std::vector<row>& rows) {
  std::vector<lock_summary> all;
  for (const row& r : rows) {
    lock_summary s;
    s.name = text_at(r, 0);
    s.last_token = token(r, 1);
    const std::int64_t capacity = number_at(r, 2);
    s.capacity = capacity == store::full_capacity ? 0 : capacity;
    s.holders = static_cast<std::uint64_t>(number_at(r, 3));
    s.waiters = static_cast<std::uint64_t>(number_at(r, 4));
    s.mode = store::mode_of(is_null(r, 5) ? capacity : number_at(r, 5), capacity);
    s.held_for = time(r, 6);
    if (!is_null(r, 7)) s.holder = from_metadata(text_at(r, 7));
    s.holder_token = token(r, 8);
    all.push_back(std::move(s));
  }
  return all;
}

reply to_reply(const tickets::request& request, const run& result) {
  switch (request.kind) {
    case task::acquire: return placed(request, result);
    case task::find:
      if (!result.ended_at.empty()) return nothing{};
      return position(result.rows.at(1), token(result.rows.at(0), 0));
    case task::look:
      if (result.ended_at == "keep" || result.rows.empty()) return nothing{};
      return position(result.rows.at(0), request.token);
    case task::release:
    case task::withdraw:
    case task::downgrade:
    case task::annotate: {
      const bool none = result.ended_at == "drop" || result.ended_at == "find" ||
                        result.ended_at == "lower" || result.ended_at == "annotate";
      return none ? reply{nothing{}} : reply{done{}};
    }
    case task::request_release:
    case task::force_release: return count{static_cast<std::size_t>(number_at(result.rows.at(0), 0))};
    case task::inspect: return state_of(request, result.rows);
    case task::list: return summaries(result.rows);
    case task::renew: break;
  }
  return nothing{};
}

}  // namespace holdfast::sql
