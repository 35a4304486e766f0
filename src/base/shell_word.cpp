// SPDX-License-Identifier: Apache-2.0
#include "base/shell_word.hpp"

namespace holdfast {

std::string word_for_shell(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string{text};
  std::string word{'\''};
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word += '\'';
}

}  // namespace holdfast
