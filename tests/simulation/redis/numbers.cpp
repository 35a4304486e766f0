// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/numbers.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace holdfast::sim {

std::optional<std::int64_t> integer_in(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits[0] == '0' && text.size() > 1)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> double_in(std::string_view text) {
  // Most scores are whole numbers of a size that a double holds exactly.
  if (text.size() <= 15) {
    if (const auto whole = integer_in(text)) return static_cast<double>(*whole);
  }
  const std::string ended{text};
  char* end = nullptr;
  const double value = std::strtod(ended.c_str(), &end);
  if (end != ended.c_str() + ended.size() || std::isnan(value)) return std::nullopt;
  return value;
}

double_text::double_text(double value) {
  constexpr double shortest_of_17_digits = 1e16;
  if (std::fabs(value) < shortest_of_17_digits && value == std::trunc(value) &&
      !(value == 0 && std::signbit(value))) {
    const auto whole = static_cast<std::int64_t>(value);
    size_ = static_cast<std::size_t>(std::to_chars(text_.data(), text_.data() + text_.size(), whole).ptr -
                                     text_.data());
  } else {
    size_ = static_cast<std::size_t>(std::snprintf(text_.data(), text_.size(), "%.17g", value));
  }
}

}  // namespace holdfast::sim
