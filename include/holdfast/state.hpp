#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// How a name is held.
enum class mode : std::uint8_t {
  exclusive,  ///< by one
  shared,     ///< by any number of readers, and no writer
  permits,    ///< by holders whose permits add up to at most the capacity
};

/// "exclusive", "shared" or "permits".
[[nodiscard]] HOLDFAST_EXPORT std::string_view to_string(mode m) noexcept;

/// Who claims: what inspection shows to people. Chosen by the client that claims, so never trusted.
struct claimant {
  std::string host;
  std::int64_t pid = 0;
  std::string program;
  std::string label;
};

/// One holder or waiter of a name, as the store had it when it was asked.
struct claim_state {
  std::string owner;  ///< the claim's random id, 32 hexadecimal digits; of a foreign holder whatever it wrote
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 0;  ///< for mode::permits: how many of the capacity
  fencing_token token;       ///< zero for a foreign holder, which has none
  duration age{};  ///< since it was granted (holders) or queued (waiters); on ZooKeeper since it was queued
  duration expires_in{};  ///< until it ends unless it is renewed
  holdfast::claimant claimant;
};

/// One name, as the store had it when it was asked.
struct lock_state {
  std::string name;
  std::int64_t capacity = 0;         ///< of a semaphore; zero for every other lock
  fencing_token last_token;          ///< the largest ever drawn for the name
  std::vector<claim_state> holders;  ///< in the order of their grants
  std::vector<claim_state> waiters;  ///< in the order in which they will be served
};

/// One line of a listing.
struct lock_summary {
  std::string name;
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t capacity = 0;
  std::uint64_t holders = 0;
  std::uint64_t waiters = 0;
  fencing_token last_token;
  duration held_for{};         ///< the age of the oldest hold; zero when nobody holds
  fencing_token holder_token;  ///< of the oldest hold; zero when nobody holds
  claimant holder;             ///< the one behind the oldest hold
};

}  // namespace holdfast
