// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "holdfast/fencing_token.hpp"

namespace holdfast::sql {

/// A value from any of the databases.
using value = std::variant<std::monostate, std::int64_t, std::string>;
using row = std::vector<value>;

/// The value of a column; zero or empty where it has another type.
[[nodiscard]] inline std::int64_t number_at(const row& r, std::size_t column) {
  const auto* n = std::get_if<std::int64_t>(&r.at(column));
  return n != nullptr ? *n : 0;
}
[[nodiscard]] inline std::string text_at(const row& r, std::size_t column) {
  const auto* t = std::get_if<std::string>(&r.at(column));
  return t != nullptr ? *t : std::string{};
}
[[nodiscard]] inline fencing_token token_at(const row& r, std::size_t column) {
  return fencing_token{static_cast<std::uint64_t>(number_at(r, column))};
}
[[nodiscard]] inline bool is_null(const row& r, std::size_t column) {
  return std::holds_alternative<std::monostate>(r.at(column));
}

}  // namespace holdfast::sql
