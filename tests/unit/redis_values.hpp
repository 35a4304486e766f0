// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

// Replies of a server:
inline value text(std::string s) { return {value::kind::text, 0, std::move(s), {}}; }
inline value number(std::int64_t n) { return {value::kind::number, n, {}, {}}; }
inline value error_of(std::string s) { return {value::kind::error, 0, std::move(s), {}}; }
inline value list(std::vector<value> items) { return {value::kind::list, 0, {}, std::move(items)}; }
inline value push(std::vector<value> items) { return {value::kind::push, 0, {}, std::move(items)}; }

/// The arguments of each command that a client has sent.
inline std::vector<std::vector<std::string>> commands_in(std::string_view bytes) {
  parser p;
  p.feed(bytes);
  std::vector<std::vector<std::string>> all;
  while (const auto command = p.next()) {
    std::vector<std::string>& arguments = all.emplace_back();
    for (const value& each : command->items) arguments.push_back(each.text);
  }
  return all;
}

}  // namespace holdfast::redis
