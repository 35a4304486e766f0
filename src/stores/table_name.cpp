// SPDX-License-Identifier: Apache-2.0
#include "stores/table_name.hpp"

#include <algorithm>

namespace holdfast::stores {

namespace {

constexpr const char* usual_name = "holdfast_locks";

/// The characters are those that need no quoting anywhere; the table's name is the one text that goes into
/// statements.
bool is_plain(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  constexpr std::size_t longest = 48;
  const bool digit_first = !name.empty() && name.front() >= '0' && name.front() <= '9';
  return !name.empty() && name.size() <= longest && !digit_first &&
         std::all_of(name.begin(), name.end(), plain);
}

}  // namespace

table_name take_qualified_table(store_url& url) {
  const std::string given = url.take("table").value_or(usual_name);
  const std::size_t dot = given.find('.');
  table_name t;
  if (dot != std::string::npos) t.schema = given.substr(0, dot);
  t.name = dot == std::string::npos ? given : given.substr(dot + 1);
  if (!is_plain(t.name) || (dot != std::string::npos && !is_plain(t.schema))) {
    url.refuse(
        "the option 'table' is not [schema.]name, where each part has 1 to 48 letters, digits and "
        "underscores and begins with no digit");
  }
  return t;
}

std::string take_table(store_url& url) {
  const std::string given = url.take("table").value_or(usual_name);
  if (!is_plain(given)) {
    url.refuse(
        "the option 'table' is not a name of 1 to 48 letters, digits and underscores that begins with no "
        "digit");
  }
  return given;
}

}  // namespace holdfast::stores
