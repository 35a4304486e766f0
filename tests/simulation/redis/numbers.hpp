// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::sim {

/// A decimal number as Redis takes it for one: no spaces, no plus, no leading zeros, 64 bits.
[[nodiscard]] std::optional<std::int64_t> integer_in(std::string_view text);
/// Anything that strtod() takes whole and that is a number; "inf" too. Nothing at all is zero.
[[nodiscard]] std::optional<double> double_in(std::string_view text);

/// A double as Redis writes it: "%.17g".
class double_text {
 public:
  explicit double_text(double value);
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_;
  std::size_t size_;
};

}  // namespace holdfast::sim
