#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace holdfast::sql {

/// Zero if the text does not begin with a number.
[[nodiscard]] inline std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace holdfast::sql
