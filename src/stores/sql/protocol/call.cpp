#include "stores/sql/protocol/call.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "stores/sql/protocol/looks.hpp"

namespace holdfast::sql {

using tickets::task;

namespace {

parameter name_of(const tickets::request& r) { return parameter::of_text(r.name); }
parameter owner_of(const tickets::request& r) { return parameter::of_bytes(r.owner.bytes()); }
parameter token_of(const fencing_token& t) { return parameter::of(static_cast<std::int64_t>(t.value())); }

void append_number(std::string& to, std::uint64_t n, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) to += static_cast<char>(n >> shift);
}

/// The ttl for the server.
duration ttl_of(duration wanted, std::optional<duration> session) {
  return session ? forever + std::min(wanted, *session) : wanted;
}

/// Packs holds one after another: the name's length in 2 bytes, the name, 16 bytes of owner, the token and
/// the ttl in 8 bytes each, the numbers with their highest byte first.
std::string packed(const std::vector<store::hold>& holds, std::optional<duration> session) {
  std::string all;
  for (const store::hold& h : holds) {
    append_number(all, h.name.size(), 2);
    all.append(h.name).append(h.owner.bytes());
    append_number(all, h.token.value(), 8);
    append_number(all, static_cast<std::uint64_t>(ttl_of(h.ttl, session).count()), 8);
  }
  return all;
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

call renewal(const std::vector<store::hold>& holds, std::optional<duration> session) {
  std::vector<store::hold> sorted;
  sorted.reserve(holds.size());
  for (const std::size_t i : order_of(holds)) sorted.push_back(holds[i]);
  return {"renew", {parameter::of_bytes(packed(sorted, session))}};
}

tickets::kept renewed(const tickets::request& request, const std::vector<row>& rows) {
  const std::string each = text_at(rows.at(0), 0);
  tickets::kept answer;
  answer.each.assign(request.batch.size(), false);
  const auto order = order_of(request.batch);
  for (std::size_t i = 0; i < order.size(); ++i) {
    answer.each[order[i]] = each.at(i) == '1';
    if (each.at(i) == '2') answer.unsure.push_back(order[i]);  // the row is locked by another transaction
  }
  return answer;
}

call inspect_call(const tickets::request& request) {
  const auto so_far = inspection_of(request);
  return {"inspect_part",
          {name_of(request), parameter::of(so_far->after), parameter::of(so_far->upto),
           parameter::of(claims_in_part)}};
}

call list_call(const tickets::request& request) {
  const auto so_far = listing_of(request);
  return {"list_part",
          {parameter::of(so_far->has_counted), parameter::of_text(so_far->name), parameter::of(so_far->token),
           parameter::of(names_in_part), parameter::of(counted_in_part)}};
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

}  // namespace

call call_of(const tickets::request& request, const owner_id& client, std::optional<duration> session) {
  const auto name = name_of(request);
  const auto owner = owner_of(request);
  const auto token = token_of(request.token);
  const auto ttl = parameter::of(ttl_of(request.ttl, session).count());
  switch (request.kind) {
    case task::acquire:
      return {"acquire",
              {name, owner, parameter::of_bytes(client.bytes()), parameter::of(request.weight),
               parameter::of(request.capacity), ttl, parameter::of_text(metadata_of(request)),
               parameter::of(request.wait)}};
    case task::find: return {"find", {name, owner}};
    case task::look: return {"look", {name, owner, token, ttl}};
    case task::renew: return renewal(request.batch, session);
    case task::release: return {"release", {name, owner, token}};
    case task::withdraw: return {"withdraw", {name, owner}};
    case task::downgrade: return {"downgrade", {name, owner, token, parameter::of(request.weight)}};
    case task::annotate: return {"annotate", {name, owner, token, parameter::of_text(metadata_of(request))}};
    case task::request_release:
      return {"request_release",
              {name, token, token_of(request.last), parameter::of_text(metadata_of(request))}};
    // The routine has the name that users of the servers know.
    case task::force_release: return {"evict", {name, token, token_of(request.last)}};
    case task::inspect: return inspect_call(request);
    case task::list: return list_call(request);
  }
  return {};
}

tickets::reply reply_of(const tickets::request& request, const std::vector<row>& rows) {
  switch (request.kind) {
    case task::acquire: return acquired(rows);
    case task::find:
    case task::look: return place_at(rows);
    case task::renew: return renewed(request, rows);
    case task::release:
    case task::withdraw:
    case task::downgrade:
    case task::annotate:
      return number_at(rows.at(0), 0) != 0 ? tickets::reply{tickets::done{}} : tickets::nothing{};
    case task::request_release:
    case task::force_release: return tickets::count{static_cast<std::size_t>(number_at(rows.at(0), 0))};
    case task::inspect: return inspected(request, rows);
    case task::list: return listed(request, rows);
  }
  return tickets::nothing{};
}

tickets::reply reply_of_nothing(const tickets::request& request) {
  switch (request.kind) {
    case task::renew: return tickets::kept{std::vector<bool>(request.batch.size(), false)};
    case task::request_release:
    case task::force_release: return tickets::count{0};
    case task::inspect: return std::optional<lock_state>{};
    case task::list: return std::vector<lock_summary>{};
    default: return tickets::nothing{};
  }
}

call sweep_call(duration keep_idle, duration every, std::int64_t limit) {
  return {"sweep", {parameter::of(keep_idle.count()), parameter::of(every.count()), parameter::of(limit)}};
}

naming::naming(std::string schema, std::string table, char quote)
    : schema_{std::move(schema)}, table_{std::move(table)}, quote_{quote} {}

std::string naming::quoted(std::string_view part) const {
  std::string all;
  const auto quote = [&](const std::string& name) { (all += quote_).append(name) += quote_; };
  if (!schema_.empty()) {
    quote(schema_);
    all += '.';
  }
  quote(bare(part));
  return all;
}

std::string naming::bare(std::string_view part) const {
  return part == "locks" ? table_ : table_ + '_' + std::string{part};
}

std::string naming::fill(std::string_view text) const {
  const auto is_part = [](std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  };
  std::string all;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    all += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    const std::string_view part = text.substr(open + 1, close - open - 1);
    if (close == std::string_view::npos || !is_part(part)) {
      all += '{';
      text.remove_prefix(open + 1);
      continue;
    }
    all += quoted(part);
    text.remove_prefix(close + 1);
  }
  return all;
}

std::string naming::plain() const { return schema_.empty() ? table_ : schema_ + '.' + table_; }

}  // namespace holdfast::sql
