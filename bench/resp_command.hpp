#pragma once

#include <string>
#include <string_view>

/// A command to Redis as it travels: an array of byte strings. For the floors and the tests, which see none
/// of the library's inside.
template <class Words>
std::string resp_command(const Words& words) {
  std::string text = "*";
  text.append(std::to_string(words.size())).append("\r\n");
  for (const std::string_view word : words) {
    text.append("$").append(std::to_string(word.size())).append("\r\n").append(word).append("\r\n");
  }
  return text;
}
