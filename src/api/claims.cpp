#include "api/claims.hpp"

#include <utility>

#include "base/metadata.hpp"
#include "base/owner_id.hpp"
#include "holdfast/error.hpp"

namespace holdfast::detail {

std::int64_t checked_capacity(std::int64_t capacity, const std::string& type) {
  constexpr std::int64_t largest = 1'000'000'000;
  if (capacity < 1 || capacity > largest) {
    throw error{errc::invalid_argument,
                type + ": the capacity " + std::to_string(capacity) + " is not between 1 and 1000000000"};
  }
  return capacity;
}

lease_core::wish wish_of(const claim_terms& terms, const lock_options& options,
                         std::shared_ptr<const std::string> metadata, bool waits) {
  if (terms.mode == mode::permits && (terms.permits < 1 || terms.permits > terms.capacity)) {
    throw error{errc::invalid_argument, "cannot take " + std::to_string(terms.permits) + " permits of '" +
                                            terms.name + "': its capacity is " +
                                            std::to_string(terms.capacity)};
  }
  if (terms.election && options.at_least() != duration::zero()) {
    throw error{errc::invalid_argument,
                "cannot lead '" + terms.name +
                    "': an election has no at_least, since a leader that has resigned "
                    "would be shown as the leader"};
  }
  lease_core::wish wish;
  wish.margin = options.drift_margin();
  wish.renews = options.renewal();
  wish.at_least = options.at_least();
  store::claim& c = wish.claim;
  c.name = terms.name;
  c.owner = owner_id::random();
  c.mode = terms.mode;
  c.permits = terms.permits;
  c.capacity = terms.capacity;
  c.shareable = terms.shareable;
  c.election = terms.election;
  c.ttl = options.ttl();
  c.grace = options.grace();
  c.retry = options.retry();
  c.metadata = std::move(metadata);
  c.wait = waits;
  return wish;
}

std::shared_ptr<const std::string> metadata_for(const client_core& locks, const lock_options& options,
                                                std::optional<std::string> value) {
  claimant self = this_process();
  if (!locks.options().program().empty()) self.program = locks.options().program();
  self.label = options.label();
  self.value = std::move(value);
  return std::make_shared<const std::string>(to_metadata(self));
}

}  // namespace holdfast::detail
