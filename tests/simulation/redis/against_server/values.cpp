// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/against_server/values.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace holdfast::sim {

using kind = redis::value::kind;

std::string quoted(const std::string& bytes) {
  std::string text{"\""};
  for (const char c : bytes) {
    if (c == '"' || c == '\\') {
      text.append("\\").push_back(c);
    } else if (std::isprint(static_cast<unsigned char>(c)) != 0) {
      text.push_back(c);
    } else {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
      text.append(hex);
    }
  }
  return text + '"';
}

std::string describe(const redis::value& v) {
  switch (v.type) {
    case kind::null: return "(nil)";
    case kind::number: return std::to_string(v.number);
    case kind::text: return quoted(v.text);
    case kind::error: return std::string{"-"}.append(quoted(v.text));
    case kind::list:
    case kind::push: break;
  }
  std::string text = v.is(kind::push) ? ">[" : "[";
  for (const redis::value& item : v.items) {
    if (&item != v.items.data()) text += ", ";
    text += describe(item);
  }
  return text + ']';
}

void sort_items(redis::value& v) {
  std::sort(v.items.begin(), v.items.end(),
            [](const redis::value& a, const redis::value& b) { return describe(a) < describe(b); });
}

bool same(const redis::value& a, const redis::value& b, std::int64_t slack) {
  if (a.type != b.type) return false;
  switch (a.type) {
    case kind::null: return true;
    case kind::number:
      // Below zero it is no time, but "none" or "never".
      return a.number == b.number || (a.number >= 0 && b.number >= 0 &&
                                      std::max(a.number, b.number) - std::min(a.number, b.number) <= slack);
    case kind::text:
    case kind::error: return a.text == b.text;
    case kind::list:
    case kind::push: break;
  }
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [&](const redis::value& x, const redis::value& y) { return same(x, y, slack); });
}

}  // namespace holdfast::sim
