// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/command.hpp"

#include <algorithm>

namespace holdfast::sim {

void call::add_text(std::string_view t) {
  redis::value& item = reply.items.emplace_back();
  item.type = redis::value::kind::text;
  item.text = t;
}

const command* find_command(std::string_view name) {
  for (const auto table : {sorted_set_commands(), key_commands(), server_commands()}) {
    for (const command& c : table)
      if (is_keyword(name, c.name)) return &c;
  }
  return nullptr;
}

bool is_keyword(std::string_view argument, std::string_view wanted) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return argument.size() == wanted.size() && std::equal(argument.begin(), argument.end(), wanted.begin(),
                                                        [&](char a, char b) { return lower(a) == b; });
}

}  // namespace holdfast::sim
