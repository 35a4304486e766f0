// SPDX-License-Identifier: Apache-2.0
#include "percent.hpp"

#include <charconv>
#include <system_error>

namespace holdfast::cli {

std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned value = 0;
    const auto* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value, 16);
    if (digits.size() != 2 || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

}  // namespace holdfast::cli
