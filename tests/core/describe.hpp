// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "core/request.hpp"

namespace holdfast::test {

/// All that a reply, a request or a state says, in one line: to compare, and to read when a test fails.
[[nodiscard]] std::string describe(const tickets::reply& r);
[[nodiscard]] std::string describe(const tickets::request& r);
[[nodiscard]] std::string describe(const std::optional<lock_state>& s);

}  // namespace holdfast::test
