// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "stores/sql/protocol/rows.hpp"

namespace holdfast::sql {

// A look at a name, or at all names, is read in parts. Each part is a statement of its own. So no queue keeps
// the server, or the connection that carries the renewals, for longer than a part takes. The client keeps
// what it has read, and the place behind it, until the look ends: a part may be asked for twice.

inline constexpr std::int64_t claims_in_part = 64;     // read with their texts, each of 15 kB at most
inline constexpr std::int64_t names_in_part = 64;      // likewise
inline constexpr std::int64_t counted_in_part = 1024;  // claims
inline constexpr std::int64_t longest_token = INT64_MAX;

/// What is read of a name. Its claims are read in the order of their tokens, which they keep, so that none is
/// read twice. Who holds and who waits is what the first part says: a claim that is granted, or comes,
/// between two parts is no holder, or is not there.
struct inspection final : tickets::listing_state {
  explicit inspection(const tickets::inspect& of) : upto{of.waiters_read == 0 ? 0 : longest_token} {}

  std::int64_t after = 0;  // the last token that was read
  std::int64_t upto;       // no later claim is read, but those that hold
  std::int64_t granted = 0;
  std::optional<lock_state> state;
};

/// What is read of all names: the claims are counted, in the order of names and tokens. If idle names are
/// asked for, all names follow.
struct listing final : tickets::listing_state {
  bool has_counted = false;  // all claims
  std::string name;          // of the last claim that was counted, or the last name without one
  std::int64_t token = 0;    // of that claim
  std::map<std::string, lock_summary> names;
};

/// What the requests before have read; the beginning, if there were none.
[[nodiscard]] std::shared_ptr<inspection> inspection_of(const tickets::inspect& request);
[[nodiscard]] std::shared_ptr<listing> listing_of(const tickets::list& request);

/// Adds the rows of a part of an inspection: token, granted, capacity, place, owner, weight, age, expires_in,
/// metadata, living. The first has what is said of the name. No row: there is no such name. A row without a
/// place is of no claim.
/// \return the state, or `more`.
[[nodiscard]] tickets::reply inspected(const tickets::inspect& request, const std::vector<row>& rows);

/// Adds the rows of a part of a listing: name, token, capacity, holders, claims, weight, held_for, metadata,
/// holder_token, counted (the token of the last claim of the name that was counted). No row: there are no
/// more.
/// \return the summaries, or `more`.
[[nodiscard]] tickets::reply listed(const tickets::list& request, const std::vector<row>& rows);

}  // namespace holdfast::sql
