// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "core/claim.hpp"
#include "core/machine.hpp"
#include "core/request.hpp"
#include "support/request_form.hpp"  // IWYU pragma: export

namespace holdfast::test {

using namespace std::chrono_literals;

inline constexpr store::time_point epoch{std::chrono::hours{1}};
inline constexpr duration margin = 302ms;

/// The n-th owner, or client.
[[nodiscard]] inline owner_id id(std::uint8_t n) {
  owner_id::bytes_type bytes{};
  bytes.fill(n);
  return owner_id{bytes};
}

/// A wish for "stock", for 30 s, that waits.
[[nodiscard]] inline store::claim a_claim(std::uint8_t owner = 1) {
  store::claim c;
  c.name = "stock";
  c.owner = id(owner);
  c.ttl = 30s;
  c.margin = margin;
  c.wait = true;
  c.metadata = std::make_shared<const std::string>("somebody");
  return c;
}

[[nodiscard]] inline tickets::place waiting_at(std::uint64_t token) {
  return {fencing_token{token}, false, false, {}};
}
[[nodiscard]] inline tickets::place head_at(std::uint64_t token, duration holder_left) {
  return {fencing_token{token}, false, true, holder_left};
}
[[nodiscard]] inline tickets::place granted_at(std::uint64_t token) {
  return {fencing_token{token}, true, true, {}};
}

/// The four kinds of request_error, by what they leave open.
[[nodiscard]] inline store::request_error no_reply(bool retryable, bool maybe_executed) {
  return {{errc::unavailable, "the store does not answer"}, retryable, maybe_executed};
}
inline const store::request_error retryable = no_reply(true, false);
inline const store::request_error retryable_maybe_executed = no_reply(true, true);
inline const store::request_error permanent = no_reply(false, false);
inline const store::request_error permanent_maybe_executed = no_reply(false, true);

[[nodiscard]] inline store::notification grant_of(std::uint64_t token) {
  return {{}, store::notification_kind::granted, fencing_token{token}};
}
[[nodiscard]] inline store::notification revocation(std::uint64_t token = 0) {
  return {{}, store::notification_kind::revoked, fencing_token{token}};
}

}  // namespace holdfast::test
