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
  duration ttl{};
  bool wait = false;  // in the queue; false: be refused
  retry_policy retry;
  std::shared_ptr<const std::string> metadata;
};

/// Identifies a grant for its renewal or release: the name, and the proof that it is the client's own.
struct hold {
  std::string name;
  owner_id owner;
  fencing_token token;
  duration ttl{};
};

/// One mechanism for the three modes: every claim weighs something, and the claims that hold a name weigh
/// at most its room together. A writer fills the room, a reader takes one unit of it, permits take their
/// number of a room that is the semaphore's capacity.
inline constexpr std::int64_t whole_room = std::int64_t{1} << 30U;

[[nodiscard]] constexpr std::int64_t room_of(const claim& c) {
  return c.mode == mode::permits ? c.capacity : whole_room;
}

[[nodiscard]] constexpr std::int64_t weight_of(const claim& c) {
  switch (c.mode) {
    case mode::exclusive: return whole_room;
    case mode::shared: return 1;
    case mode::permits: return c.permits;
  }
  return whole_room;
}

[[nodiscard]] constexpr mode mode_of(std::int64_t weight, std::int64_t room) {
  if (room != whole_room) return mode::permits;
  return weight == whole_room ? mode::exclusive : mode::shared;
}

}  // namespace holdfast::store
