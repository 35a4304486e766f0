// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/paths.hpp"

#include <array>

#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

namespace {

std::string escaped(char c) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  return {'%', digits[byte >> 4U], digits[byte & 0xFU]};
}

int value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

/// The length of a character that ZooKeeper refuses, in bytes of UTF-8: beyond U+FFFF, which Java sees as two
/// halves, U+E000 to U+F8FF, and U+FFF0 to U+FFFF. Names contain no other characters that it refuses.
std::size_t refused_at_begin(std::string_view rest) {
  const auto at = [&](std::size_t i) { return i < rest.size() ? static_cast<unsigned char>(rest[i]) : 0U; };
  if (at(0) >= 0xF0) return 4;
  const bool is_private = at(0) == 0xEE || (at(0) == 0xEF && at(1) <= 0xA3);
  const bool is_special = at(0) == 0xEF && at(1) == 0xBF && at(2) >= 0xB0;
  return is_private || is_special ? 3 : 0;
}

std::string escaped_part(std::string_view part, bool first, bool last) {
  if (part.empty()) return "%";  // not the escape of any byte
  const bool reserved = part == "." || part == ".." || (first && part == "zookeeper") ||
                        (!first && last && (part == "locks" || part == "leases"));
  // The number makes a node a contender, whatever is before it.
  const std::size_t digit = looks_like_contender(part) ? part.size() - 1 : part.size();
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (const std::size_t size = refused_at_begin(part.substr(i)); size != 0) {
      for (const char c : part.substr(i, size)) out += escaped(c);
      i += size - 1;
    } else if (part[i] == '%' || (reserved && i == 0) || i == digit) {
      out += escaped(part[i]);
    } else {
      out += part[i];
    }
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view part) {
  if (part == "%") return std::string{};
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      out += part[i];
      continue;
    }
    if (i + 2 >= part.size()) return std::nullopt;
    const int high = value_of(part[i + 1]);
    const int low = value_of(part[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

std::string path_of(std::string_view root, std::string_view name) {
  std::string path{root};
  const auto parts = parts_of(name);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    path.append("/").append(escaped_part(parts[i], root.empty() && i == 0, i + 1 == parts.size()));
  }
  return path;
}

std::optional<std::string> name_of(std::string_view root, std::string_view path) {
  if (!path.starts_with(root) || path.size() <= root.size() + 1 || path[root.size()] != '/')
    return std::nullopt;
  std::string name;
  const auto parts = parts_of(path.substr(root.size() + 1));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto text = unescaped(parts[i]);
    if (!text) return std::nullopt;
    name.append(i == 0 ? "" : "/").append(*text);
  }
  if (path_of(root, name) != path) return std::nullopt;
  return name;
}

std::vector<std::string> parents_of(std::string_view path) {
  std::vector<std::string> above;
  for (auto slash = path.find('/', 1); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    above.emplace_back(path.substr(0, slash));
  }
  return above;
}

std::optional<std::string> problem_of_root(std::string_view root) {
  if (root.empty()) return std::nullopt;
  for (const std::string_view part : parts_of(root.substr(1))) {
    if (part.empty()) return "it has an empty part";
    if (part == "." || part == "..") return "it has a part '.' or '..'";
  }
  return std::nullopt;
}

}  // namespace holdfast::zookeeper
