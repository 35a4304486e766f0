#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "simulation/redis/expiry.hpp"
#include "simulation/redis/glob.hpp"
#include "simulation/redis/numbers.hpp"

namespace holdfast::sim {

namespace {

constexpr std::array<std::string_view, std::variant_size_v<content>> type_names = {"string", "hash", "zset",
                                                                                   "list", "set"};

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

struct conditions {
  bool nx = false;
  bool xx = false;
  bool gt = false;
  bool lt = false;

  [[nodiscard]] bool allow(std::int64_t before, std::int64_t now) const {
    if (nx && before != dataset::never) return false;
    if (xx && before == dataset::never) return false;
    return !(gt && now <= before) && !(lt && now >= before);
  }
};

bool read_conditions(call& c, conditions& wanted) {
  for (const std::string_view argument : c.arguments.subspan(3)) {
    if (is_keyword(argument, "nx"))
      wanted.nx = true;
    else if (is_keyword(argument, "xx"))
      wanted.xx = true;
    else if (is_keyword(argument, "gt"))
      wanted.gt = true;
    else if (is_keyword(argument, "lt"))
      wanted.lt = true;
    else
      return c.error("ERR Unsupported option " + std::string{up_to_nul(argument)}), false;
  }
  if (wanted.nx && (wanted.xx || wanted.gt || wanted.lt)) {
    return c.error("ERR NX and XX, GT or LT options at the same time are not compatible"), false;
  }
  if (wanted.gt && wanted.lt) {
    return c.error("ERR GT and LT options at the same time are not compatible"), false;
  }
  return true;
}

template <const expiry_unit& Unit>
void expire(call& c) {
  conditions wanted;
  if (!read_conditions(c, wanted)) return;
  const auto until = expiry_in(c, c[2], Unit, false);
  if (!until) return;
  dataset::slot* s = c.data.find(c[1]);
  if (s == nullptr || !wanted.allow(s->second.expires_ms, *until)) return c.number(0);
  if (*until <= c.data.now_ms())
    c.data.erase(*s);
  else
    c.data.set_expiry(*s, *until);
  c.number(1);
}

void persist(call& c) {
  dataset::slot* s = c.data.find(c[1]);
  const bool ends = s != nullptr && s->second.expires_ms != dataset::never;
  if (ends) c.data.set_expiry(*s, dataset::never);
  c.number(ends ? 1 : 0);
}

template <const expiry_unit& Unit>
void time_left(call& c) {
  const dataset::slot* s = c.data.find(c[1]);
  if (s == nullptr) return c.number(-2);
  const std::int64_t until = s->second.expires_ms;
  if (until == dataset::never) return c.number(-1);
  const std::int64_t wanted = Unit.from_now ? until - c.data.now_ms() : until;
  c.number(Unit.milliseconds == 1 ? wanted : (wanted + 500) / 1000);
}

// -- all of them --------------------------------------------------------------------------------------------

/// A place in the order in which SCAN goes: of the key alone, so that keys that come and go meanwhile change
/// nothing for the others. 48 bits of FNV-1a; the cursor 0 is the beginning and the end.
std::uint64_t scan_place(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : key) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return std::max<std::uint64_t>(hash >> 16, 1);
}

/// Anything that strtoul() takes whole; nothing at all is zero.
std::optional<std::uint64_t> cursor_in(std::string_view text) {
  const std::string ended{text};
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoul(ended.c_str(), &end, 10);
  const bool space = std::isspace(static_cast<unsigned char>(*ended.c_str())) != 0;
  if (space || *end != '\0' || errno == ERANGE) return std::nullopt;
  return value;
}

struct scan_options {
  std::string_view match = "*";
  std::string_view type;
  std::int64_t count = 10;
};

bool read_scan_options(call& c, scan_options& wanted) {
  for (std::size_t i = 2; i < c.size(); i += 2) {
    if (i + 1 == c.size()) return c.error(says::syntax), false;
    if (is_keyword(c[i], "match")) {
      wanted.match = c[i + 1];
    } else if (is_keyword(c[i], "type")) {
      wanted.type = c[i + 1];
    } else if (is_keyword(c[i], "count")) {
      const auto count = integer_in(c[i + 1]);
      if (!count) return c.error(says::not_an_integer), false;
      if (*count < 1) return c.error(says::syntax), false;
      wanted.count = *count;
    } else {
      return c.error(says::syntax), false;
    }
  }
  return true;
}

void scan(call& c) {
  const auto cursor = cursor_in(c[1]);
  if (!cursor) return c.error("ERR invalid cursor");
  scan_options wanted;
  if (!read_scan_options(c, wanted)) return;

  std::vector<std::pair<std::uint64_t, const dataset::slot*>> ahead;
  c.data.each([&](const dataset::slot& s) {
    const std::uint64_t place = scan_place(s.first);
    if (place >= *cursor) ahead.emplace_back(place, &s);
  });
  std::sort(ahead.begin(), ahead.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->first < b.second->first;
  });
  auto end =
      ahead.begin() + std::min<std::ptrdiff_t>(wanted.count, static_cast<std::ptrdiff_t>(ahead.size()));
  // Keys in one place go together, or those left out would be passed over by the next call.
  while (end != ahead.begin() && end != ahead.end() && end->first == (end - 1)->first) ++end;

  c.list();
  c.add_text(std::to_string(end == ahead.end() ? 0 : end->first));
  redis::value keys;
  keys.type = redis::value::kind::list;
  for (auto it = ahead.begin(); it != end; ++it) {
    const auto& [key, entry] = *it->second;
    if (!matches(wanted.match, key)) continue;
    if (!wanted.type.empty() && !is_keyword(wanted.type, type_names.at(entry.value.index()))) continue;
    redis::value& one = keys.items.emplace_back();
    one.type = redis::value::kind::text;
    one.text = key;
  }
  c.reply.items.push_back(std::move(keys));
}

void dbsize(call& c) {
  std::int64_t count = 0;
  c.data.each([&](const dataset::slot&) { ++count; });
  c.number(count);
}

void flushall(call& c) {
  if (c.size() > 2 || (c.size() == 2 && !is_keyword(c[1], "async") && !is_keyword(c[1], "sync"))) {
    return c.error(says::syntax);
  }
  c.data.clear();
  c.ok();
}

constexpr std::array table = {
    command{"del", -2, command::writes, del},
    command{"unlink", -2, command::writes, del},
    command{"exists", -2, command::none, exists},
    command{"type", 2, command::none, type},
    command{"expire", -3, command::writes, expire<seconds_from_now>},
    command{"pexpire", -3, command::writes, expire<milliseconds_from_now>},
    command{"expireat", -3, command::writes, expire<seconds_of_clock>},
    command{"pexpireat", -3, command::writes, expire<milliseconds_of_clock>},
    command{"persist", 2, command::writes, persist},
    command{"ttl", 2, command::none, time_left<seconds_from_now>},
    command{"pttl", 2, command::none, time_left<milliseconds_from_now>},
    command{"expiretime", 2, command::none, time_left<seconds_of_clock>},
    command{"pexpiretime", 2, command::none, time_left<milliseconds_of_clock>},
    command{"scan", -2, command::none, scan},
    command{"dbsize", 1, command::none, dbsize},
    command{"flushall", -1, command::writes, flushall},
    command{"flushdb", -1, command::writes, flushall},
};

}  // namespace

std::optional<std::int64_t> expiry_in(call& c, std::string_view text, expiry_unit unit, bool positive) {
  const auto invalid = [&] {
    std::string name{c[0]};
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char ch) { return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch + 32) : ch; });
    c.error("ERR invalid expire time in '" + name + "' command");
    return std::nullopt;
  };
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
  auto wanted = integer_in(text);
  if (!wanted) return c.error(says::not_an_integer), std::nullopt;
  if (positive && *wanted <= 0) return invalid();
  if (*wanted > largest / unit.milliseconds || *wanted < smallest / unit.milliseconds) return invalid();
  *wanted *= unit.milliseconds;
  if (!unit.from_now) return wanted;
  if (*wanted > largest - c.data.now_ms()) return invalid();
  return *wanted + c.data.now_ms();
}

std::span<const command> key_commands() { return table; }

}  // namespace holdfast::sim
