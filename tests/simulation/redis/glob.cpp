#include "simulation/redis/glob.hpp"

#include <algorithm>

namespace holdfast::sim {

namespace {

/// Eats one "[...]" of the pattern, whose '[' is gone already.
bool in_class(std::string_view& pattern, char c) {
  const bool negated = pattern.starts_with('^');
  if (negated) pattern.remove_prefix(1);
  bool found = false;
  while (!pattern.empty() && pattern[0] != ']') {
    if (pattern[0] == '\\' && pattern.size() >= 2) {
      found = found || pattern[1] == c;
      pattern.remove_prefix(2);
    } else if (pattern.size() >= 3 && pattern[1] == '-') {
      const auto [low, high] = std::minmax(pattern[0], pattern[2]);
      found = found || (c >= low && c <= high);
      pattern.remove_prefix(3);
    } else {
      found = found || pattern[0] == c;
      pattern.remove_prefix(1);
    }
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  return found != negated;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  while (!pattern.empty()) {
    const char p = pattern[0];
    if (p == '*') {
      while (pattern.starts_with('*')) pattern.remove_prefix(1);
      if (pattern.empty()) return true;
      for (; !text.empty(); text.remove_prefix(1)) {
        if (matches(pattern, text)) return true;
      }
      return false;
    }
    if (text.empty()) return false;
    pattern.remove_prefix(1);
    if (p == '[') {
      if (!in_class(pattern, text[0])) return false;
    } else if (p == '\\' && !pattern.empty()) {
      if (pattern[0] != text[0]) return false;
      pattern.remove_prefix(1);
    } else if (p != '?' && p != text[0]) {
      return false;
    }
    text.remove_prefix(1);
  }
  return text.empty();
}

}  // namespace holdfast::sim
