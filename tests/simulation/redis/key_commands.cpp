// SPDX-License-Identifier: Apache-2.0
// Keys of any type, and texts.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/redis/command.hpp"
#include "simulation/redis/numbers.hpp"

namespace holdfast::sim {

namespace {

constexpr std::array<std::string_view, std::variant_size_v<content>> type_names = {"string", "zset"};

void del(call& c) {
  std::int64_t count = 0;
  for (const std::string_view key : c.arguments.subspan(1)) {
    if (dataset::slot* s = c.data.find(key)) {
      c.data.erase(*s);
      ++count;
    }
  }
  c.number(count);
}

void exists(call& c) {
  const auto keys = c.arguments.subspan(1);
  c.number(std::count_if(keys.begin(), keys.end(),
                         [&](std::string_view key) { return c.data.find(key) != nullptr; }));
}

void type(call& c) {
  const dataset::slot* s = c.data.find(c[1]);
  c.simple(s == nullptr ? "none" : type_names.at(s->second.value.index()));
}

// -- until when ---------------------------------------------------------------------------------------------

/// So many milliseconds from now on the server's clock; empty, and an error for reply, if that is no time.
std::optional<std::int64_t> end_in(call& c, std::string_view text, std::int64_t least, const char* invalid) {
  const auto wanted = integer_in(text);
  if (!wanted) return c.error(says::not_an_integer), std::nullopt;
  if (*wanted < least || *wanted > std::numeric_limits<std::int64_t>::max() - c.data.now_ms()) {
    return c.error(invalid), std::nullopt;
  }
  return *wanted + c.data.now_ms();
}

void pexpire(call& c) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::min();
  const auto until = end_in(c, c[2], any, "ERR invalid expire time in 'pexpire' command");
  if (!until) return;
  dataset::slot* s = c.data.find(c[1]);
  if (s == nullptr) return c.number(0);
  if (*until <= c.data.now_ms())
    c.data.erase(*s);
  else
    c.data.set_expiry(*s, *until);
  c.number(1);
}

void pttl(call& c) {
  const dataset::slot* s = c.data.find(c[1]);
  if (s == nullptr) return c.number(-2);
  const std::int64_t until = s->second.expires_ms;
  c.number(until == dataset::never ? -1 : until - c.data.now_ms());
}

// -- all of them --------------------------------------------------------------------------------------------

/// A place in the order in which SCAN goes: of the key alone, so that keys that come and go meanwhile change
/// nothing for the others. 48 bits of FNV-1a; the cursor 0 is the beginning and the end.
std::uint64_t scan_place(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : key) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return std::max<std::uint64_t>(hash >> 16, 1);
}

/// A pattern with * and \ alone.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t at = 0; at <= text.size(); ++at)
      if (matches(pattern.substr(1), text.substr(at))) return true;
    return false;
  }
  if (pattern[0] == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
}

/// SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]
void scan(call& c) {
  const auto cursor = static_cast<std::uint64_t>(integer_in(c[1]).value_or(0));
  std::string_view pattern = "*";
  std::string_view wanted_type;
  std::int64_t count = 10;
  for (std::size_t i = 2; i + 1 < c.size(); i += 2) {
    if (is_keyword(c[i], "match"))
      pattern = c[i + 1];
    else if (is_keyword(c[i], "type"))
      wanted_type = c[i + 1];
    else if (is_keyword(c[i], "count"))
      count = integer_in(c[i + 1]).value_or(count);
    else
      return c.error(says::syntax);
  }

  std::vector<std::pair<std::uint64_t, const dataset::slot*>> ahead;
  c.data.each([&](const dataset::slot& s) {
    const std::uint64_t place = scan_place(s.first);
    if (place >= cursor) ahead.emplace_back(place, &s);
  });
  std::sort(ahead.begin(), ahead.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->first < b.second->first;
  });
  auto end = ahead.begin() + std::min<std::ptrdiff_t>(count, std::ssize(ahead));
  // Keys in one place go together, or those left out would be passed over by the next call.
  while (end != ahead.begin() && end != ahead.end() && end->first == (end - 1)->first) ++end;

  c.list();
  c.add_text(std::to_string(end == ahead.end() ? 0 : end->first));
  redis::value keys;
  keys.type = redis::value::kind::list;
  for (auto it = ahead.begin(); it != end; ++it) {
    const auto& [key, entry] = *it->second;
    if (!matches(pattern, key)) continue;
    if (!wanted_type.empty() && wanted_type != type_names.at(entry.value.index())) continue;
    redis::value& one = keys.items.emplace_back();
    one.type = redis::value::kind::text;
    one.text = key;
  }
  c.reply.items.push_back(std::move(keys));
}

// -- texts --------------------------------------------------------------------------------------------------

/// SET key text [NX | XX] [PX milliseconds | KEEPTTL]
void set(call& c) {
  bool nx = false;
  bool xx = false;
  bool keeps_end = false;
  std::int64_t until = dataset::never;
  for (std::size_t i = 3; i < c.size(); ++i) {
    if (is_keyword(c[i], "nx") && !xx) {
      nx = true;
    } else if (is_keyword(c[i], "xx") && !nx) {
      xx = true;
    } else if (is_keyword(c[i], "keepttl")) {
      keeps_end = true;
    } else if (is_keyword(c[i], "px") && i + 1 < c.size()) {
      const auto end = end_in(c, c[++i], 1, "ERR invalid expire time in 'set' command");
      if (!end) return;
      until = *end;
    } else {
      return c.error(says::syntax);
    }
  }
  const dataset::slot* s = c.data.find(c[1]);
  if (s != nullptr ? nx : xx) return;
  if (keeps_end && s != nullptr) until = s->second.expires_ms;
  c.data.put(c[1], std::string{c[2]}, until);
  c.simple("OK");
}

void get(call& c) {
  bool wrong = false;
  const dataset::slot* s = c.find<std::string>(c[1], wrong);
  if (s != nullptr && !wrong) c.text(std::get<std::string>(s->second.value));
}

void mget(call& c) {
  c.list();
  for (const std::string_view key : c.arguments.subspan(1)) {
    const dataset::slot* s = c.data.find(key);
    const auto* found = s == nullptr ? nullptr : std::get_if<std::string>(&s->second.value);
    if (found == nullptr)
      c.add_null();
    else
      c.add_text(*found);
  }
}

void getrange(call& c) {
  auto first = integer_in(c[2]);
  auto last = integer_in(c[3]);
  if (!first || !last) return c.error(says::not_an_integer);
  bool wrong = false;
  const dataset::slot* s = c.find<std::string>(c[1], wrong);
  if (wrong) return;
  const std::string_view value = s == nullptr ? std::string_view{} : std::get<std::string>(s->second.value);
  const std::int64_t size = std::ssize(value);
  if (*first < 0 && *last < 0 && *first > *last) return c.text({});
  if (*first < 0) first = std::max<std::int64_t>(*first + size, 0);
  if (*last < 0) last = std::max<std::int64_t>(*last + size, 0);
  last = std::min(*last, size - 1);
  if (*first > *last) return c.text({});
  c.text(value.substr(static_cast<std::size_t>(*first), static_cast<std::size_t>(*last - *first + 1)));
}

constexpr std::array table = {
    command{"pttl", 2, command::none, pttl},         command{"mget", -2, command::none, mget},
    command{"get", 2, command::none, get},           command{"set", -3, command::writes_more, set},
    command{"pexpire", 3, command::writes, pexpire}, command{"del", -2, command::writes, del},
    command{"exists", -2, command::none, exists},    command{"type", 2, command::none, type},
    command{"getrange", 4, command::none, getrange}, command{"scan", -2, command::none, scan},
};

}  // namespace

std::span<const command> key_commands() { return table; }

}  // namespace holdfast::sim
