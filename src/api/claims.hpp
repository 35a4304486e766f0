#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/client_core.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"
#include "lease/lease_manager.hpp"

namespace holdfast::detail {

/// What a lock asks for; the options say for how long.
struct claim_terms {
  std::string name;
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 1;
  std::int64_t capacity = 0;  // zero for everything but permits
  bool shareable = false;     // readers may share it
  bool election = false;
};

/// \return the capacity. \throws holdfast::error errc::invalid_argument where it is not between 1 and 10^9;
/// `type` begins the message.
std::int64_t checked_capacity(std::int64_t capacity, const std::string& type);
/// \param waits whether it enters the queue. \throws holdfast::error errc::invalid_argument.
[[nodiscard]] lease_core::wish wish_of(const claim_terms& terms, const lock_options& options,
                                       std::shared_ptr<const std::string> metadata, bool waits);
/// What other clients are told of a claim: this process, with the program and the label of the options.
/// \param value of a candidate of an election.
[[nodiscard]] std::shared_ptr<const std::string> metadata_for(const client_core& locks,
                                                              const lock_options& options,
                                                              std::optional<std::string> value = {});

}  // namespace holdfast::detail
