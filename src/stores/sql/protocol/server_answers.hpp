#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace holdfast::sql {

/// Zero where the text does not begin with a number.
[[nodiscard]] std::int64_t number_in(std::string_view text);

/// What a database server has said of itself, by the names that conditions.sql gives them.
struct server_answers {
  std::map<std::string, std::string, std::less<>> said;
  /// What could not be read ("settings"), and why: what depends on it is not known.
  std::map<std::string, std::string, std::less<>> unread;

  /// Empty: it did not say so.
  [[nodiscard]] std::string value(std::string_view name) const;
  [[nodiscard]] bool has_read(std::string_view part) const { return !unread.contains(part); }
  [[nodiscard]] std::int64_t number(std::string_view name) const { return number_in(value(name)); }
};

}  // namespace holdfast::sql
