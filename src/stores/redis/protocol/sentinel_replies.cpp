// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/sentinel_replies.hpp"

#include <algorithm>
#include <cstddef>

#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t most_names = 10;  // in a message

}  // namespace

void append_address_question(std::string& out, std::string_view primary) {
  append(out, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", primary});
}

std::optional<server_address> primary_address_in(const value& reply) {
  if (reply.is(value::kind::null)) return std::nullopt;
  const auto is_text = [](const value& v) { return v.is(value::kind::text); };
  if (!reply.is(value::kind::list) || reply.items.size() != 2 ||
      !std::all_of(reply.items.begin(), reply.items.end(), is_text) || !is_host(reply.items[0].text) ||
      !is_port(reply.items[1].text)) {
    throw misunderstood{};
  }
  return server_address{reply.items[0].text, reply.items[1].text};
}

std::vector<std::string> primary_names_in(const value& reply) {
  std::vector<std::string> names;
  if (!reply.is(value::kind::list)) return names;
  for (const value& fields : reply.items) {
    for (std::size_t i = 0; i + 1 < fields.items.size() && names.size() < most_names; i += 2) {
      if (fields.items[i].text != "name") continue;
      if (is_primary_name(fields.items[i + 1].text)) names.push_back(fields.items[i + 1].text);
      break;
    }
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all.append(all.empty() ? "" : ", ").append(name);
  return all;
}

/// The payloads are "NAME FORMER-HOST PORT HOST PORT" and "master NAME FORMER-HOST PORT".
bool announces_switch(const value& push, std::string_view primary) {
  if (!push.is(value::kind::push) || push.items.size() != 3 || push.items[0].text != "message") return false;
  const std::string& channel = push.items[1].text;
  const std::string name = std::string{primary} + ' ';
  return (channel == switch_channel && push.items[2].text.starts_with(name)) ||
         (channel == promotion_channel && push.items[2].text.starts_with("master " + name));
}

bool is_primary_name(std::string_view name) { return is_host(name); }

}  // namespace holdfast::redis
