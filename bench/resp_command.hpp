// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// A command to Redis as it travels: an array of byte strings. For the floors and the tests, which see none
/// of the library's inside.
template <class Arguments>
std::string resp_command(const Arguments& arguments) {
  std::string text = "*";
  text.append(std::to_string(arguments.size())).append("\r\n");
  for (const std::string_view argument : arguments) {
    text.append("$").append(std::to_string(argument.size())).append("\r\n").append(argument).append("\r\n");
  }
  return text;
}
