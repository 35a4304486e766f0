// SPDX-License-Identifier: Apache-2.0
#include "stores/sql/protocol/call.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>

#include "stores/sql/protocol/looks.hpp"
#include "stores/sql/protocol/text.hpp"

namespace holdfast::sql {

namespace {

parameter name_of(const store::hold& h) { return parameter::of_text(h.name); }
parameter owner_of(const store::hold& h) { return parameter::of_bytes(h.owner.bytes()); }
parameter token_of(const fencing_token& t) { return parameter::of(static_cast<std::int64_t>(t.value())); }

void append_number(std::string& to, std::uint64_t n, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) to += static_cast<char>(n >> shift);
}

/// The ttl for the server.
duration ttl_of(duration wanted, std::optional<duration> session) {
  return session ? forever + std::min(wanted, *session) : wanted;
}

/// The indexes of the holds in the order of their names: transactions that lock the rows of several names in
/// one order do not deadlock.
std::vector<std::size_t> order_of(const std::vector<store::hold>& holds) {
  std::vector<std::size_t> order(holds.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(holds[a].name, a) < std::tie(holds[b].name, b);
  });
  return order;
}

/// Packs holds one after another, in the order of their names: the name's length in 2 bytes, the name, 16
/// bytes of owner, the token and the ttl in 8 bytes each, the numbers with their highest byte first.
std::string packed(const std::vector<store::hold>& holds, std::optional<duration> session) {
  std::string all;
  for (const std::size_t i : order_of(holds)) {
    const store::hold& h = holds[i];
    append_number(all, h.name.size(), 2);
    all.append(h.name).append(h.owner.bytes());
    append_number(all, h.token.value(), 8);
    append_number(all, static_cast<std::uint64_t>(ttl_of(h.ttl, session).count()), 8);
  }
  return all;
}

tickets::kept renewed(const tickets::renew& request, const std::vector<row>& rows) {
  const std::string each = text_at(rows.at(0), 0);
  tickets::kept answer;
  answer.each.assign(request.holds.size(), false);
  const auto order = order_of(request.holds);
  for (std::size_t i = 0; i < order.size(); ++i) {
    answer.each[order[i]] = each.at(i) == '1';
    if (each.at(i) == '2') answer.unsure.push_back(order[i]);  // the row is locked by another transaction
  }
  return answer;
}

/// From four columns, of which this is the first: token, granted, head, holder_left.
tickets::place place_from(const row& r, std::size_t first) {
  tickets::place found{token_at(r, first), number_at(r, first + 1) != 0, number_at(r, first + 2) != 0, {}};
  if (!is_null(r, first + 3)) found.holder_left = duration{number_at(r, first + 3)};
  return found;
}

tickets::reply place_at(const std::vector<row>& rows) {
  if (rows.empty()) return tickets::nothing{};
  return place_from(rows[0], 0);
}

tickets::reply acquired(const std::vector<row>& rows) {
  enum : std::int64_t { placed, refused, other };
  const row& r = rows.at(0);
  switch (number_at(r, 0)) {
    case refused: return tickets::refused{};
    case other: return tickets::other_capacity{number_at(r, 1)};
    default: return place_from(r, 1);
  }
}

/// The call of each request.
struct caller {
  const owner_id& client;
  std::optional<duration> session;

  call operator()(const tickets::acquire& r) const {
    const store::claim& c = *r.claim;
    return {"acquire",
            {parameter::of_text(c.name), parameter::of_bytes(c.owner.bytes()),
             parameter::of_bytes(client.bytes()), parameter::of(store::weight_of(c)),
             parameter::of(store::capacity_of(c)), ttl(store_ttl(c)),
             parameter::of_text(store::text_of(c.metadata)), parameter::of(c.wait)},
            ttl_of(store_ttl(c), session)};
  }
  call operator()(const tickets::acquire_all& r) const {
    const auto list = [&](auto part_of) { return list_of(r.claims, part_of); };
    return {"acquire_all",
            {list([](const store::claim_ptr& c) { return parameter::of_text(c->name); }),
             list([](const store::claim_ptr& c) { return parameter::of_bytes(c->owner.bytes()); }),
             parameter::of_bytes(client.bytes()),
             list([](const store::claim_ptr& c) { return parameter::of(store::weight_of(*c)); }),
             list([](const store::claim_ptr& c) { return parameter::of(store::capacity_of(*c)); }),
             list([this](const store::claim_ptr& c) { return ttl(store_ttl(*c)); }),
             list([](const store::claim_ptr& c) { return parameter::of_text(store::text_of(c->metadata)); })},
            ttl_of(tickets::longest_ttl(r), session)};
  }
  call operator()(const tickets::release_all& r) const {
    return {"release_all",
            {list_of(r.holds, name_of), list_of(r.holds, owner_of),
             list_of(r.holds, [](const store::hold& h) { return token_of(h.token); })}};
  }
  call operator()(const tickets::find& r) const {
    return {"find", {name_of(r), owner_of(r)}, duration::zero()};
  }
  call operator()(const tickets::look& r) const {
    return {"look", {name_of(r), owner_of(r), token_of(r.token), ttl(r.ttl)}, ttl_of(r.ttl, session)};
  }
  call operator()(const tickets::renew& r) const {
    return {"renew", {parameter::of_bytes(packed(r.holds, session))}, duration::zero()};
  }
  call operator()(const tickets::release& r) const {
    return {"release", {name_of(r), owner_of(r), token_of(r.token)}};
  }
  call operator()(const tickets::withdraw& r) const { return {"withdraw", {name_of(r), owner_of(r)}}; }
  call operator()(const tickets::downgrade& r) const {
    return {"downgrade", {name_of(r), owner_of(r), token_of(r.token), parameter::of(std::int64_t{1})}};
  }
  call operator()(const tickets::annotate& r) const {
    return {"annotate",
            {name_of(r), owner_of(r), token_of(r.token), parameter::of_text(store::text_of(r.metadata))}};
  }
  call operator()(const tickets::request_release& r) const {
    return {"request_release",
            {parameter::of_text(r.name), token_of(r.first), token_of(r.last), parameter::of_text(r.reason)}};
  }
  /// The routine has the name that users of the servers know.
  call operator()(const tickets::force_release& r) const {
    return {"evict", {parameter::of_text(r.name), token_of(r.first), token_of(r.last)}};
  }
  call operator()(const tickets::inspect& r) const {
    const auto so_far = inspection_of(r);
    return {"inspect_part",
            {parameter::of_text(r.name), parameter::of(so_far->after), parameter::of(so_far->upto),
             parameter::of(claims_in_part)}};
  }
  call operator()(const tickets::list& r) const {
    const auto so_far = listing_of(r);
    return {"list_part",
            {parameter::of(so_far->has_counted), parameter::of_text(so_far->name),
             parameter::of(so_far->token), parameter::of(names_in_part), parameter::of(counted_in_part)}};
  }

 private:
  [[nodiscard]] parameter ttl(duration wanted) const {
    return parameter::of(ttl_of(wanted, session).count());
  }
  template <class Items, class PartOf>
  static parameter list_of(const Items& items, const PartOf& part_of) {
    std::vector<parameter> all;
    all.reserve(items.size());
    for (const auto& each : items) all.push_back(part_of(each));
    return parameter::of_list(std::move(all));
  }
};

/// The reply to each request.
struct reader {
  const std::vector<row>& rows;

  tickets::reply operator()(const tickets::acquire& /*r*/) const { return acquired(rows); }
  /// The tokens of those that are granted, and a minus for one that is refused.
  tickets::reply operator()(const tickets::acquire_all& r) const {
    tickets::several all;
    const std::string answers = is_null(rows.at(0), 0) ? std::string{} : text_at(rows.at(0), 0);
    for (std::string_view left{answers}; !left.empty();) {
      const std::string_view next = left.substr(0, left.find(' '));
      left.remove_prefix(std::min(left.size(), next.size() + 1));
      const auto token = static_cast<std::uint64_t>(sql::number_in(next));
      if (next == "-") {
        all.each.emplace_back(tickets::refused{});
      } else {
        all.each.emplace_back(tickets::place{fencing_token{token}, true, true, {}});
      }
    }
    if (all.each.size() > r.claims.size()) throw std::out_of_range{"more answers than claims"};
    return all;
  }
  tickets::reply operator()(const tickets::release_all& r) const {
    tickets::several all;
    for (const char each : text_at(rows.at(0), 0)) {
      each == '1' ? all.each.emplace_back(tickets::done{}) : all.each.emplace_back(tickets::nothing{});
    }
    if (all.each.size() > r.holds.size()) throw std::out_of_range{"more answers than holds"};
    return all;
  }
  tickets::reply operator()(const tickets::find& /*r*/) const { return place_at(rows); }
  tickets::reply operator()(const tickets::look& /*r*/) const { return place_at(rows); }
  tickets::reply operator()(const tickets::renew& r) const { return renewed(r, rows); }
  tickets::reply operator()(const store::hold& /*changed*/) const {
    return number() != 0 ? tickets::reply{tickets::done{}} : tickets::nothing{};
  }
  tickets::reply operator()(const tickets::request_release& /*r*/) const { return count(); }
  tickets::reply operator()(const tickets::force_release& /*r*/) const { return count(); }
  tickets::reply operator()(const tickets::inspect& r) const { return inspected(r, rows); }
  tickets::reply operator()(const tickets::list& r) const { return listed(r, rows); }

 private:
  [[nodiscard]] std::int64_t number() const { return number_at(rows.at(0), 0); }
  [[nodiscard]] tickets::count count() const { return {static_cast<std::size_t>(number())}; }
};

}  // namespace

call call_of(const tickets::request& request, const owner_id& client, std::optional<duration> session) {
  return std::visit(caller{client, session}, request);
}

tickets::reply reply_of(const tickets::request& request, const std::vector<row>& rows) {
  return std::visit(reader{rows}, request);
}

tickets::reply reply_of_nothing(const tickets::request& request) {
  if (const auto* const renewal = std::get_if<tickets::renew>(&request))
    return tickets::kept{std::vector<bool>(renewal->holds.size(), false)};
  if (std::holds_alternative<tickets::force_release>(request) ||
      std::holds_alternative<tickets::request_release>(request))
    return tickets::count{0};
  if (std::holds_alternative<tickets::inspect>(request)) return std::optional<lock_state>{};
  if (std::holds_alternative<tickets::list>(request)) return std::vector<lock_summary>{};
  return tickets::nothing{};
}

call sweep_call(duration keep_idle, duration every, std::int64_t limit) {
  return {"sweep", {parameter::of(keep_idle.count()), parameter::of(every.count()), parameter::of(limit)}};
}

}  // namespace holdfast::sql
