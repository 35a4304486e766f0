// SPDX-License-Identifier: Apache-2.0
#include "api/claims.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/metadata.hpp"
#include "base/owner_id.hpp"
#include "holdfast/counting_semaphore.hpp"
#include "holdfast/error.hpp"

namespace holdfast {

namespace detail {

std::int64_t checked_capacity(std::int64_t capacity) {
  constexpr std::int64_t largest = 1'000'000'000;
  if (capacity < 1 || capacity > largest) {
    throw error{errc::invalid_argument,
                "the capacity " + std::to_string(capacity) + " is not between 1 and 1000000000"};
  }
  return capacity;
}

void check_permits(const store::claim& wanted) {
  if (wanted.mode != mode::permits || (wanted.permits >= 1 && wanted.permits <= wanted.capacity)) return;
  const std::string attempt =
      "cannot take " + std::to_string(wanted.permits) + " permits of '" + wanted.name + "': ";
  throw error{errc::invalid_argument,
              attempt + (wanted.permits < 1 ? "a holder has at least one"
                                            : "its capacity is " + std::to_string(wanted.capacity))};
}

store::claim with_options(store::claim wanted, const lock_options& options,
                          std::shared_ptr<const std::string> metadata) {
  wanted.ttl = options.ttl();
  wanted.margin = options.drift_margin();
  wanted.grace = options.grace();
  wanted.at_least = options.at_least();
  wanted.renews = options.renewal();
  wanted.retry = options.retry();
  wanted.metadata = std::move(metadata);
  return wanted;
}

store::claim_ptr claim_of(std::shared_ptr<store::claim> wanted, bool waits) {
  check_permits(*wanted);
  wanted->owner = owner_id::random();
  wanted->wait = waits;
  return wanted;
}

std::shared_ptr<const std::string> metadata_for(const client_core& locks, const lock_options& options,
                                                std::optional<std::string> value) {
  // Most claims of a client have the same, and C makes it for each of them.
  if (!value && locks.metadata() && options.label() == locks.options().locks().label())
    return locks.metadata();
  claimant self = this_process();
  if (!locks.options().program().empty()) self.program = locks.options().program();
  self.label = options.label();
  self.value = std::move(value);
  return std::make_shared<const std::string>(to_metadata(self));
}

}  // namespace detail

std::int64_t counting_semaphore::checked(std::ptrdiff_t capacity) {
  return detail::checked_capacity(capacity);
}

}  // namespace holdfast
