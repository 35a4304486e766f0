// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "core/notification.hpp"

namespace holdfast::sql {

/// In place of a token: a holder is asked to release.
inline constexpr std::int64_t release_requested = -std::numeric_limits<std::int64_t>::max();

/// Decodes a notification of an SQL store: the claim's owner, and its token. A negative token is a
/// revocation, but for `release_requested`; zero: the claim has become the first in the queue.
[[nodiscard]] inline store::notification notification_of(const owner_id& owner, std::int64_t token) {
  if (token == 0) return {owner, store::notification_kind::first, {}};
  if (token == release_requested) return {owner, store::notification_kind::release_requested, {}};
  const auto bits = static_cast<std::uint64_t>(token);
  if (token > 0) return {owner, store::notification_kind::granted, fencing_token{bits}};
  return {owner, store::notification_kind::revoked, fencing_token{~bits + 1}};
}

/// Encodes the token of a grant, a revocation, a request to release or `first`.
[[nodiscard]] inline std::int64_t signed_token_of(const store::notification& n) {
  if (n.kind == store::notification_kind::release_requested) return release_requested;
  const auto token = static_cast<std::int64_t>(n.token.value());
  return n.kind == store::notification_kind::revoked ? -token : token;
}

}  // namespace holdfast::sql
