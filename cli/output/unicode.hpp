// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// A character taken off the front of a text; an invalid byte comes alone, with `valid` false.
struct character {
  char32_t code = 0;
  std::string_view bytes;
  bool valid = true;
};

/// Takes the next character off a text that is not empty.
[[nodiscard]] character take_character(std::string_view& text);

/// Whether showing it would act on the terminal or deceive the reader: control characters, separators
/// of lines, marks and overrides of the writing direction, invisible characters, tags.
[[nodiscard]] bool is_deceptive(char32_t code);

/// 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
[[nodiscard]] int column_count(char32_t code);

}  // namespace holdfast::cli
