#include "stores/sql/protocol/rows.hpp"

#include "stores/sql/protocol/looks.hpp"

namespace holdfast::sql {

using tickets::count;
using tickets::done;
using tickets::nothing;
using tickets::other_capacity;
using tickets::place;
using tickets::refused;
using tickets::reply;

std::int64_t number_at(const row& r, std::size_t column) {
  const auto* n = std::get_if<std::int64_t>(&r.at(column));
  return n != nullptr ? *n : 0;
}

std::string text_at(const row& r, std::size_t column) {
  const auto* t = std::get_if<std::string>(&r.at(column));
  return t != nullptr ? *t : std::string{};
}

fencing_token token_at(const row& r, std::size_t column) {
  return fencing_token{static_cast<std::uint64_t>(number_at(r, column))};
}

bool is_null(const row& r, std::size_t column) {
  return std::holds_alternative<std::monostate>(r.at(column));
}

namespace {

std::optional<duration> time_if_any(const row& r, std::size_t column) {
  if (is_null(r, column)) return std::nullopt;
  return duration{number_at(r, column)};
}

/// capacity: token, head, held, holder_left, dead, other
reply placed(const store::claim& wanted, const run& result) {
  const row& found = result.rows.at(0);
  if (!is_null(found, 5)) return other_capacity{number_at(found, 5)};
  if (!result.ended_at.empty()) return refused{};
  const bool head = number_at(found, 1) != 0;
  const bool fits = number_at(found, 2) + store::weight_of(wanted) <= store::capacity_of(wanted);
  return place{token_at(found, 0), head && fits, head, time_if_any(found, 3)};
}

/// place: granted, head, holder_left
place position(const row& at, fencing_token own) {
  return {own, number_at(at, 0) != 0, number_at(at, 1) != 0, time_if_any(at, 2)};
}

/// The reply to each request.
struct reader {
  const run& result;

  reply operator()(const tickets::acquire& r) const { return placed(*r.claim, result); }
  reply operator()(const tickets::find& /*r*/) const {
    if (!result.ended_at.empty()) return nothing{};
    return position(result.rows.at(1), token_at(result.rows.at(0), 0));
  }
  reply operator()(const tickets::look& r) const {
    if (result.ended_at == "keep" || result.rows.empty()) return nothing{};
    return position(result.rows.at(0), r.token);
  }
  reply operator()(const store::hold& /*changed*/) const {
    const bool none = result.ended_at == "drop" || result.ended_at == "find" || result.ended_at == "lower" ||
                      result.ended_at == "annotate";
    return none ? reply{nothing{}} : reply{done{}};
  }
  reply operator()(const tickets::request_release& /*r*/) const { return number(); }
  reply operator()(const tickets::force_release& /*r*/) const { return number(); }
  reply operator()(const tickets::inspect& r) const { return inspected(r, result.rows); }
  reply operator()(const tickets::list& r) const { return listed(r, result.rows); }
  reply operator()(const tickets::renew& /*r*/) const { return nothing{}; }

 private:
  [[nodiscard]] count number() const { return {static_cast<std::size_t>(number_at(result.rows.at(0), 0))}; }
};

}  // namespace

tickets::place place_from(const row& r, std::size_t first) {
  return {token_at(r, first), number_at(r, first + 1) != 0, number_at(r, first + 2) != 0,
          time_if_any(r, first + 3)};
}

reply to_reply(const tickets::request& request, const run& result) {
  return std::visit(reader{result}, request);
}

}  // namespace holdfast::sql
