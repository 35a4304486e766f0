#include "stores/redis/protocol/shell_words.hpp"

namespace holdfast::redis {

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

std::string key_for_shell(std::string_view key) {
  const std::size_t separator = key.rfind('\x1f');
  if (separator == std::string_view::npos) return word_for_shell(key);
  return "\"$(printf '%s\\037%s' " + word_for_shell(key.substr(0, separator)) + ' ' +
         word_for_shell(key.substr(separator + 1)) + ")\"";
}

}  // namespace holdfast::redis
