#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/owner_id.hpp"
#include "holdfast/boot_clock.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"

namespace holdfast::store {

using time_point = boot_clock::time_point;

/// A request to hold a lock.
struct claim {
  std::string name;
  owner_id owner;
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 1;
  std::int64_t capacity = 0;  // of a semaphore; zero for the other modes
  bool shareable = false;     // of a lock that readers may share; some stores write its writers otherwise
  duration ttl{};             // as the client believes it
  duration grace{};           // the store keeps the claim for so much longer: see store_ttl
  bool may_rest = false;      // it has a grace, or may be released before its least time
  bool wait = false;          // in the queue; false: be refused
  /// Of an election. Some stores write its place otherwise, and no error that may pass ends its wait.
  bool election = false;
  bool stood_by = false;    // of an election: it was in the queue before, with another owner id
  bool was_queued = false;  // likewise of any claim, and that has been told
  retry_policy retry;
  std::shared_ptr<const std::string> metadata;
};

/// The ttl that the store is told. A client that dies cannot end its claim, so the name rests for the grace.
[[nodiscard]] inline duration store_ttl(const claim& c) { return c.ttl + c.grace; }

/// Identifies a grant for its renewal or release: the name, and the proof that it is the client's own.
struct hold {
  std::string name;
  owner_id owner;
  fencing_token token;
  duration ttl{};  // at the store
};

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
