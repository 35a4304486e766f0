#include "stores/redis/protocol/server_facts.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>

namespace holdfast::redis {

using std::chrono::milliseconds;

namespace {

constexpr std::int64_t longest_guard_ms = std::int64_t{25} * 3600 * 1000;

std::int64_t number_in(std::string_view text) {
  constexpr std::int64_t most = 9'000'000'000'000'000;  // as milliseconds, too, it fits
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::clamp<std::int64_t>(number, 0, most);
}

server_facts::fields::mapped_type trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  return std::string{text};
}

std::string_view text_of(const server_facts::fields& in, std::string_view name) {
  const auto found = in.find(name);
  return found == in.end() ? std::string_view{} : found->second;
}

/// What a marker says: see lua/guard.lua.
struct guard_facts {
  std::string id;
  std::string run;
  milliseconds longest{};
  std::int64_t since = 0;
};

std::optional<guard_facts> guard_facts_in(const std::string& marker) {
  std::istringstream words{marker};
  guard_facts said;
  std::string guards;
  if (!(words >> said.id >> said.run >> guards >> said.since)) return std::nullopt;
  said.longest = milliseconds{
      std::clamp<std::int64_t>(number_in(guards.substr(0, guards.find('/'))), 0, longest_guard_ms)};
  return said;
}

}  // namespace

std::string_view server_facts::field(std::string_view name) const { return text_of(info, name); }

std::string_view server_facts::setting(std::string_view name) const { return text_of(settings, name); }

std::string_view server_facts::state(std::string_view name) const {
  return cluster ? text_of(*cluster, name) : std::string_view{};
}

std::int64_t server_facts::number(std::string_view info_field) const { return number_in(field(info_field)); }

std::int64_t server_facts::number_set(std::string_view setting_name) const {
  return number_in(setting(setting_name));
}

std::int64_t server_facts::state_number(std::string_view name) const { return number_in(state(name)); }

milliseconds longest_guard(const server_facts& of) {
  const auto said = guard_facts_in(of.guard_marker);
  return said ? said->longest : milliseconds{};
}

std::chrono::milliseconds pause_left(const server_facts& of, std::chrono::milliseconds guard,
                                     std::chrono::milliseconds now) {
  // A primary takes another replication id with its first replica; one that was promoted has a former id.
  const bool has_followed = of.field("master_replid2").find_first_not_of('0') != std::string_view::npos;
  const auto said = guard_facts_in(of.guard_marker);
  if (said && (said->id == of.field("master_replid") || (said->run == of.field("run_id") && !has_followed))) {
    if (said->since <= 0) return {};
    const milliseconds length = std::max(guard, said->longest);
    return std::clamp(milliseconds{said->since} + length - now, milliseconds{}, length);
  }
  const milliseconds up{1000 * of.number("uptime_in_seconds")};
  return std::max(guard - up, milliseconds{});
}

bool is_denial(const value& reply) {
  return reply.is(value::kind::error) && reply.text.starts_with("NOPERM");
}

bool is_obstacle(const value& reply) {
  if (!reply.is(value::kind::error)) return false;
  return reply.text.starts_with("LOADING") || reply.text.starts_with("BUSY") ||
         reply.text.starts_with("MASTERDOWN");
}

server_facts::fields fields_in_info(const value& reply) {
  server_facts::fields all;
  if (!reply.is(value::kind::text)) return all;
  std::string_view rest = reply.text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && !line.starts_with('#'))
      all.emplace(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return all;
}

server_facts::fields settings_in(const value& reply) {
  server_facts::fields all;
  if (!reply.is(value::kind::list)) return all;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
    all.emplace(reply.items[i].text, reply.items[i + 1].text);
  return all;
}

bool keep_each_write(const server_facts::fields& settings) {
  return text_of(settings, "appendonly") == "yes" && text_of(settings, "appendfsync") == "always" &&
         text_of(settings, "no-appendfsync-on-rewrite") == "no";
}

}  // namespace holdfast::redis
