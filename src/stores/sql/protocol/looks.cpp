// SPDX-License-Identifier: Apache-2.0
#include "stores/sql/protocol/looks.hpp"

#include <utility>

#include "base/metadata.hpp"

namespace holdfast::sql {

namespace {

std::int64_t public_capacity(std::int64_t capacity) {
  return capacity == store::full_capacity ? 0 : capacity;
}

claim_state claim_of(const row& r, std::int64_t capacity) {
  claim_state c;
  c.token = token_at(r, 3);
  if (const auto owner = owner_id::from_bytes(text_at(r, 4))) c.owner = owner->hex();
  c.mode = store::mode_of(number_at(r, 5), capacity);
  c.permits = c.mode == mode::permits ? number_at(r, 5) : 0;
  c.age = duration{number_at(r, 6)};
  c.expires_in = duration{number_at(r, 7)};
  c.claimant = from_metadata(text_at(r, 8));
  return c;
}

lock_summary summary_of(const row& r) {
  lock_summary s;
  s.name = text_at(r, 0);
  s.last_token = token_at(r, 1);
  const std::int64_t capacity = number_at(r, 2);
  s.capacity = public_capacity(capacity);
  s.mode = store::mode_of(is_null(r, 5) ? capacity : number_at(r, 5), capacity);
  s.held_for = duration{number_at(r, 6)};
  if (!is_null(r, 7)) s.holder = from_metadata(text_at(r, 7));
  s.holder_token = token_at(r, 8);
  return s;
}

/// The claims behind a waiter count as waiters, also if they were granted since the part that counted it.
void add_counts(lock_summary& in, const row& r) {
  const auto claims = static_cast<std::uint64_t>(number_at(r, 4));
  const auto holders = in.waiters != 0 ? 0 : static_cast<std::uint64_t>(number_at(r, 3));
  in.holders += holders;
  in.waiters += claims - holders;
}

}  // namespace

std::shared_ptr<inspection> inspection_of(const tickets::inspect& request) {
  if (request.listed == nullptr) return std::make_shared<inspection>(request);
  return std::static_pointer_cast<inspection>(request.listed);
}

std::shared_ptr<listing> listing_of(const tickets::list& request) {
  if (request.listed == nullptr) return std::make_shared<listing>();
  return std::static_pointer_cast<listing>(request.listed);
}

tickets::reply inspected(const tickets::inspect& request, const std::vector<row>& rows) {
  const auto so_far = inspection_of(request);
  const std::int64_t before = so_far->after;
  if (rows.empty()) return so_far->state;  // forgotten since the last part, if there was one
  const std::int64_t capacity = number_at(rows[0], 2);
  if (!so_far->state) {
    lock_state& state = so_far->state.emplace();
    state.name = request.name;
    state.last_token = token_at(rows[0], 0);
    state.capacity = public_capacity(capacity);
    so_far->granted = number_at(rows[0], 1);
    if (so_far->upto != 0) so_far->upto = number_at(rows[0], 0);
  }
  auto& waiters = so_far->state->waiters;
  std::int64_t claims = 0;
  for (const row& r : rows) {
    if (is_null(r, 3)) continue;
    ++claims;
    so_far->after = number_at(r, 3);
    if (number_at(r, 9) == 0) continue;
    const bool holds = so_far->after <= so_far->granted;
    if (!holds && waiters.size() >= request.waiters_read) break;
    (holds ? so_far->state->holders : waiters).push_back(claim_of(r, capacity));
  }
  const bool is_last =
      claims < claims_in_part || (so_far->after > so_far->granted && waiters.size() >= request.waiters_read);
  if (is_last) return so_far->state;
  return tickets::more{so_far, so_far->after > before};
}

tickets::reply listed(const tickets::list& request, const std::vector<row>& rows) {
  const auto so_far = listing_of(request);
  const std::pair before{so_far->name, so_far->token};
  for (const row& r : rows) {
    so_far->name = text_at(r, 0);
    so_far->token = number_at(r, 9);
    if (is_null(r, 1)) continue;  // claims without a name, left behind by somebody else
    lock_summary& of_name = so_far->names[so_far->name];
    if (of_name.holders + of_name.waiters == 0) of_name = summary_of(r);
    add_counts(of_name, r);
  }
  if (!rows.empty()) return tickets::more{so_far, std::pair{so_far->name, so_far->token} > before};
  if (request.idle && !std::exchange(so_far->has_counted, true)) {
    so_far->name.clear();
    so_far->token = 0;
    return tickets::more{so_far};
  }
  std::vector<lock_summary> all;
  for (const auto& [name, each] : so_far->names) {
    if (request.idle || each.holders + each.waiters != 0) all.push_back(each);
  }
  return all;
}

}  // namespace holdfast::sql
