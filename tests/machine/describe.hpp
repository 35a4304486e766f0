#pragma once

#include <iosfwd>
#include <string>

#include "protocol/sql/request.hpp"

namespace holdfast::test {

/// All that a reply, a request or a state says, in one line: to compare, and to read when a test fails.
[[nodiscard]] std::string describe(const sql::reply& r);
[[nodiscard]] std::string describe(const sql::request& r);
[[nodiscard]] std::string describe(const std::optional<lock_state>& s);

}  // namespace holdfast::test
