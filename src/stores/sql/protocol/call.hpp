// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/request.hpp"
#include "stores/sql/protocol/rows.hpp"

namespace holdfast::sql {

/// A value for a parameter of a statement: always bound, never part of its text.
struct parameter {
  enum class kind : std::uint8_t { number, flag, text, bytes, list };
  kind type{};
  std::int64_t number = 0;  // of flags, too
  std::string text;         // of bytes, too
  std::vector<parameter> items{};

  static parameter of(std::int64_t n) { return {kind::number, n, {}}; }
  static parameter of(bool yes) { return {kind::flag, yes ? 1 : 0, {}}; }
  static parameter of_text(std::string_view t) { return {kind::text, 0, std::string{t}}; }
  static parameter of_bytes(std::string_view b) { return {kind::bytes, 0, std::string{b}}; }
  /// All numbers, all texts, or all bytes of one length. Each server takes lists in a form of its own.
  static parameter of_list(std::vector<parameter> all) { return {kind::list, 0, {}, std::move(all)}; }
};

/// One call of a routine that a database server keeps beside its tables.
///
/// The server carries out each task in a routine: in one round trip, and in a transaction that ends with the
/// routine. So a paused client never keeps a row locked for longer than a few statements take. For SQLite,
/// statements take the same parameters, do the same, and return the same rows.
struct call {
  std::string routine;  // "acquire", without the table's name
  std::vector<parameter> in;
  /// For how long the client may have the claims that the call makes, keeps or finds. None: it does nothing
  /// of that.
  std::optional<duration> keeps{};
};

/// A claim with this ttl or a longer one ends with the session that made it, because the server ends the
/// session long before that ttl. The part of the ttl beyond `forever` is the client's time limit, for
/// display.
inline constexpr duration forever{std::int64_t{1} << 62U};

// clang-format off
/// Returns a task as a call of a routine. The routines, their parameters and their rows:
///
///     acquire(name, owner, client, weight,
///             capacity, ttl, metadata, wait)     -> outcome, token, granted, head, left
///     acquire_all(names, owners, client, weights,
///             capacities, ttls, metadata)        -> a text: the token of each claim that is granted; and a minus
///                                                   if the next one is refused
///     release_all(names, owners, tokens)         -> a text of 0 and 1, one each
///     find(name, owner)                          -> token, granted, head, left; no row: nothing
///     look(name, owner, token, ttl)              -> likewise
///     renew(packed holds)                        -> a text of 0, 1 and 2, one each
///     release(name, owner, token)                -> 0 or 1
///     withdraw(name, owner)                      -> 0 or 1
///     downgrade(name, owner, token, weight)      -> 0 or 1
///     annotate(name, owner, token, metadata)     -> 0 or 1
///     evict(name, token, last token)             -> how many  (the task force_release)
///     request_release(name, token, last token,
///                     reason)                -> how many
///     inspect_part(name, after, upto, at most)   -> as looks.hpp says
///     list_part(idle, after, counted, names
///               at most, claims at most)         -> likewise
///
/// An outcome is 0 for a place, 1 for refused, 2 for a name in use with another capacity, which is then in the
/// column of the token. Flags are 0 and 1; times are microseconds.
/// \param client receives notifications; with `session`, the session that makes the call.
/// \param session the server's limit for a silent session, if claims end with their session.
// clang-format on
[[nodiscard]] call call_of(const tickets::request& request, const owner_id& client,
                           std::optional<duration> session = std::nullopt);

/// The rows of a call as the reply to its request.
[[nodiscard]] tickets::reply reply_of(const tickets::request& request, const std::vector<row>& rows);

/// The reply of a store that has no tables yet: there are no locks.
[[nodiscard]] tickets::reply reply_of_nothing(const tickets::request& request);

/// Removes names that have not been used for long: sweep(keep_idle, every, limit) -> whether there is more.
/// See sweep.sql.
/// \param keep_idle how long an unused name's last token is remembered.
/// \param every how long no client sweeps again after a complete sweep.
/// \param limit rows at a time.
[[nodiscard]] call sweep_call(duration keep_idle, duration every, std::int64_t limit);

}  // namespace holdfast::sql
