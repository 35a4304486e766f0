// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/client_core.hpp"
#include "core/claim.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"

namespace holdfast::detail {

/// \return the capacity. \throws holdfast::error errc::invalid_argument if it is not between 1 and 10^9.
std::int64_t checked_capacity(std::int64_t capacity);
/// Completes a claim of a name with what the options say. It has no owner yet, and does not wait.
[[nodiscard]] store::claim with_options(store::claim wanted, const lock_options& options,
                                        std::shared_ptr<const std::string> metadata);
/// Completes the claim of one call: it gets an owner of its own.
/// \param waits whether it enters the queue. \throws holdfast::error errc::invalid_argument.
[[nodiscard]] store::claim_ptr claim_of(std::shared_ptr<store::claim> wanted, bool waits);
/// \throws holdfast::error errc::invalid_argument if the permits are more than the capacity.
void check_permits(const store::claim& wanted);
/// What other clients are told of a claim: this process, with the program and the label of the options.
/// \param value of a candidate of an election.
[[nodiscard]] std::shared_ptr<const std::string> metadata_for(const client_core& locks,
                                                              const lock_options& options,
                                                              std::optional<std::string> value = {});

}  // namespace holdfast::detail
