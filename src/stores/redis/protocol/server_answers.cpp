#include "stores/redis/protocol/server_answers.hpp"

#include <algorithm>

namespace holdfast::redis {

bool is_denial(const value& reply) {
  return reply.is(value::kind::error) && reply.text.starts_with("NOPERM");
}

bool is_obstacle(const value& reply) {
  if (!reply.is(value::kind::error)) return false;
  return reply.text.starts_with("LOADING") || reply.text.starts_with("BUSY") ||
         reply.text.starts_with("MASTERDOWN");
}

answer_fields fields_in_info(const value& reply) {
  answer_fields all;
  if (!reply.is(value::kind::text)) return all;
  std::string_view rest = reply.text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && !line.starts_with('#'))
      all.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return all;
}

answer_fields settings_in(const value& reply) {
  answer_fields all;
  if (!reply.is(value::kind::list)) return all;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
    all.emplace(reply.items[i].text, reply.items[i + 1].text);
  return all;
}

bool keep_each_write(const answer_fields& settings) {
  const auto is = [&](const char* name, const char* text) {
    const auto found = settings.find(name);
    return found != settings.end() && found->second == text;
  };
  return is("appendonly", "yes") && is("appendfsync", "always") && is("no-appendfsync-on-rewrite", "no");
}

}  // namespace holdfast::redis
