// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/owner_id.hpp"
#include "holdfast/boot_clock.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"

namespace holdfast::store {

using time_point = boot_clock::time_point;

/// What is wanted: a hold of a name, and the terms of its lease. Below the public types it is passed on as it
/// is, from the call of a user to the bytes that a store is sent.
struct claim {
  std::string name;
  owner_id owner{};
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 1;
  std::int64_t capacity = 0;  // of a semaphore; zero for the other modes
  bool shareable = false;     // of a lock that readers may share; some stores write its writers otherwise
  bool wait = false;          // in the queue; false: be refused
  /// Of an election. Some stores write its place otherwise, and no error that may pass ends its wait.
  bool election = false;
  bool renews = true;   // by the client, without its user
  duration ttl{};       // as the client believes it
  duration margin{};    // the client believes in it for so much less
  duration grace{};     // the store keeps the claim for so much longer: see store_ttl
  duration at_least{};  // the name stays locked from the grant, also if it is released sooner
  retry_policy retry{};
  std::shared_ptr<const std::string> metadata{};
};
using claim_ptr = std::shared_ptr<const claim>;

/// The metadata as they are sent: empty if there are none.
[[nodiscard]] inline std::string_view text_of(const std::shared_ptr<const std::string>& metadata) {
  return metadata ? std::string_view{*metadata} : std::string_view{};
}

/// The ttl that the store is told. A client that dies cannot end its claim, so the name rests for the grace.
[[nodiscard]] inline duration store_ttl(const claim& c) { return c.ttl + c.grace; }

/// Whether the name may stay locked when the claim has ended.
[[nodiscard]] inline bool may_rest(const claim& c) {
  return c.grace != duration::zero() || c.at_least != duration::zero();
}

/// Identifies a grant for its renewal or release: the name, and the proof that it is the client's own.
struct hold {
  std::string name;
  owner_id owner;
  fencing_token token;
  duration ttl{};  // at the store
};
[[nodiscard]] inline hold hold_of(const claim& c, fencing_token token) {
  return {c.name, c.owner, token, store_ttl(c)};
}

/// One mechanism for the three modes: every claim weighs something, and the claims that hold a name weigh
/// at most its capacity together. A writer takes the full capacity, a reader one unit of it, permits their
/// number of the semaphore's capacity.
inline constexpr std::int64_t full_capacity = std::int64_t{1} << 30U;

[[nodiscard]] constexpr std::int64_t capacity_of(const claim& c) {
  return c.mode == mode::permits ? c.capacity : full_capacity;
}

[[nodiscard]] constexpr std::int64_t weight_of(const claim& c) {
  switch (c.mode) {
    case mode::exclusive: return full_capacity;
    case mode::shared: return 1;
    case mode::permits: return c.permits;
  }
  return full_capacity;
}

[[nodiscard]] constexpr mode mode_of(std::int64_t weight, std::int64_t capacity) {
  if (capacity != full_capacity) return mode::permits;
  return weight == full_capacity ? mode::exclusive : mode::shared;
}

}  // namespace holdfast::store
