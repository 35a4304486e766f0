#pragma once

#include <cstdint>

#include "core/notification.hpp"

namespace holdfast::sql {

/// Decodes a notification of an SQL store: the claim's owner, and its token. A negative token is a
/// revocation; zero: the claim has become the first in the queue.
[[nodiscard]] inline store::notification notification_of(const owner_id& owner, std::int64_t token) {
  if (token == 0) return {owner, store::notification_kind::first, {}};
  const auto bits = static_cast<std::uint64_t>(token);
  if (token > 0) return {owner, store::notification_kind::granted, fencing_token{bits}};
  return {owner, store::notification_kind::revoked, fencing_token{~bits + 1}};
}

/// Encodes the token of a grant, a revocation or `first`.
[[nodiscard]] inline std::int64_t signed_token_of(const store::notification& n) {
  const auto token = static_cast<std::int64_t>(n.token.value());
  return n.kind == store::notification_kind::revoked ? -token : token;
}

}  // namespace holdfast::sql
