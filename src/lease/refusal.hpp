// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "lease/lease_record.hpp"

namespace holdfast::lease_core {

// What the errors of operations on leases say. Any thread.

/// A loss in words.
[[nodiscard]] const char* text_of(loss_reason reason) noexcept;

/// "cannot renew 'account/1' and the other names on redis://localhost"
/// \param leases at least one, all of one claim.
[[nodiscard]] std::string attempt_on(std::string_view verb, std::span<const lease_record_ptr> leases);

/// Why an operation on these leases ended with that code.
[[nodiscard]] std::string reason_of(std::error_code code, std::span<const lease_record_ptr> leases);

}  // namespace holdfast::lease_core
