// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/keys.hpp"

#include <array>
#include <vector>

#include "base/shell_word.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t keys_of_a_name = 4;
constexpr char separator = '\x1f';  // US, the unit separator

constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    table.at(i) = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char c : bytes) {
    crc = ((crc << 8U) ^ crc_table.at(((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xFFU)) & 0xFFFFU;
  }
  return static_cast<std::uint16_t>(crc);
}

/// The text between the first brace and the brace that closes it; empty: the slot depends on the whole key.
std::string_view tag_of(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return {};
  const std::size_t close = key.find('}', open);
  return close == std::string_view::npos ? std::string_view{} : key.substr(open + 1, close - open - 1);
}

}  // namespace

/// A number that lies in the slot.
std::string tag_in(std::uint16_t slot) {
  static const std::vector<std::uint32_t> table = [] {
    std::vector<std::uint32_t> numbers(slot_count, 0);
    std::size_t missing = slot_count;
    for (std::uint32_t n = 1; missing != 0; ++n) {
      std::uint32_t& place = numbers.at(crc16(std::to_string(n)) % slot_count);
      if (place != 0) continue;
      place = n;
      --missing;
    }
    return numbers;
  }();
  return std::to_string(table.at(slot));
}

std::string side_key_stem(const std::string& lock) {
  const bool has_brace = lock.find('}') != std::string::npos;
  std::string tag{has_brace ? tag_of(lock) : std::string_view{}};
  if (has_brace && tag.empty()) tag = tag_in(slot_of(lock));
  std::string stem;
  stem.reserve(lock.size() + tag.size() + 3);
  stem += '{';
  if (has_brace) stem.append(tag).append("}");
  stem += lock;
  if (!has_brace) stem += '}';
  stem += separator;
  return stem;
}

keys keys::of(std::string_view prefix, std::string_view name) {
  keys k;
  k.lock.append(prefix).append(name);
  const std::string stem = side_key_stem(k.lock);
  k.fence = stem + "fence";
  k.waiters = stem + "waiters";
  k.holders = stem + "holders";
  return k;
}

std::string guard_key(std::string_view prefix) { return side_key_stem(std::string{prefix}) + "guard"; }

std::string quorum_key(std::string_view prefix) { return side_key_stem(std::string{prefix}) + "quorum"; }

std::string key_for_shell(std::string_view key) {
  const std::size_t at = key.rfind(separator);
  if (at == std::string_view::npos) return word_for_shell(key);
  return "\"$(printf '%s\\037%s' " + word_for_shell(key.substr(0, at)) + ' ' +
         word_for_shell(key.substr(at + 1)) + ")\"";
}

std::string literally(std::string_view bytes) {
  std::string pattern;
  for (const char c : bytes) {
    if (std::string_view{"*?[]\\^-"}.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// A pattern of an ACL contains no blank, whatever the quotes: there any character is meant.
std::string key_grant(std::string_view before, std::string_view prefix) {
  std::string pattern{'~'};
  pattern += before;
  for (const char c : prefix) {
    if (std::string_view{"*?[]^\\"}.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c == ' ' ? '?' : c;
  }
  pattern += '*';
  if (pattern.find_first_of("\"'") == std::string::npos) return pattern;
  std::string quoted{'"'};
  for (const char c : pattern) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted += '"';
}

std::string guard_key(std::string_view prefix, std::uint16_t slot) {
  std::string key{'{'};  // not "{" + ...: g++ 12 with -O3 warns of that by mistake (-Wrestrict)
  key += tag_in(slot);
  key += '}';
  key += prefix;
  key += separator;
  return key += "guard";
}

std::optional<std::string> lock_of_side_key(std::string_view key) {
  const std::size_t end = key.rfind(separator);
  const std::size_t close = key.find('}');
  if (!key.starts_with('{') || end == std::string_view::npos || close > end) return std::nullopt;
  const std::string_view rest = key.substr(close + 1, end - close - 1);
  std::string lock{rest.empty() ? key.substr(1, close - 1) : rest};
  if (side_key_stem(lock) != key.substr(0, end + 1)) return std::nullopt;
  return lock;
}

std::optional<std::string> lock_of_fence(std::string_view key) {
  return key.ends_with(
             "\x1f"
             "fence")
             ? lock_of_side_key(key)
             : std::nullopt;
}

std::uint16_t slot_of(std::string_view key) {
  const std::string_view tag = tag_of(key);
  return crc16(tag.empty() ? key : tag) % slot_count;
}

void begin_call(std::string& out, const script& s, bool in_full, std::size_t names, std::size_t arguments) {
  const std::size_t key_count = keys_of_a_name * names;
  append_command(out, 3 + key_count + arguments);
  append_bulk_string(out, in_full ? "EVAL" : "EVALSHA");
  append_bulk_string(out, in_full ? s.text : s.sha1);
  append_number(out, static_cast<std::int64_t>(key_count));
}

void append_keys(std::string& out, std::string_view prefix, std::string_view name) {
  std::string lock;
  lock.reserve(prefix.size() + name.size());
  lock.append(prefix).append(name);
  append_bulk_string(out, lock);
  const std::string stem = side_key_stem(lock);
  using namespace std::string_view_literals;
  for (const auto last : {"fence"sv, "waiters"sv, "holders"sv}) append_bulk_string(out, stem, last);
}

}  // namespace holdfast::redis
