// SPDX-License-Identifier: Apache-2.0
// The server itself: its clock, its replicas, channels and scripts.

#include <array>
#include <optional>
#include <string>

#include "simulation/redis/numbers.hpp"
#include "simulation/redis/server_access.hpp"

namespace holdfast::sim {

namespace {

/// RESP3, of which a model that has no wire knows the pushes alone.
void hello(call& c) {
  if (c[1] != "3") return c.error("NOPROTO unsupported protocol version");
  c.list();
}

void time(call& c) {
  const std::int64_t now = server_access::now_us(c);
  c.list();
  c.add_text(std::to_string(now / 1'000'000));
  c.add_text(std::to_string(now % 1'000'000));
}

void wait(call& c) { c.number(server_access::settings(c).replicas); }

/// Two sections, and of these what clients of ours ask for.
void info(call& c) {
  const redis_model::identity& own = server_access::identity(c);
  std::string text;
  const auto field = [&](std::string_view name, const std::string& value) {
    text.append(name).append(":").append(value).append("\r\n");
  };
  if (is_keyword(c[1], "server")) {
    text += "# Server\r\n";
    field("run_id", own.run);
    field("uptime_in_seconds",
          std::to_string(server_access::now_us(c) / 1'000'000 - own.started_us / 1'000'000));
  } else if (is_keyword(c[1], "replication")) {
    text += "# Replication\r\n";
    field("role", server_access::settings(c).read_only ? "slave" : "master");
    field("master_replid", own.replication);
    field("master_replid2", own.former_replication);
  }
  c.text(text);
}

void publish(call& c) { c.number(server_access::publish(c, c[1], c[2])); }

void subscribe(call& c) {
  for (const std::string_view channel : c.arguments.subspan(1)) server_access::subscribe(c, channel);
}

/// How many keys there are; empty, and an error for reply, if that is no number of them.
std::optional<std::size_t> keys_in(call& c) {
  const auto count = integer_in(c[2]);
  if (!count) return c.error(says::not_an_integer), std::nullopt;
  if (*count > static_cast<std::int64_t>(c.size()) - 3) {
    return c.error("ERR Number of keys can't be greater than number of args"), std::nullopt;
  }
  if (*count < 0) return c.error("ERR Number of keys can't be negative"), std::nullopt;
  return static_cast<std::size_t>(*count);
}

void eval(call& c) {
  const auto keys = keys_in(c);
  if (!keys) return;
  if (const auto* script = server_access::load(c, c[1])) server_access::run(c, *script, *keys);
}

void evalsha(call& c) {
  const auto keys = keys_in(c);
  if (!keys) return;
  const auto* script = server_access::script(c, c[1]);
  if (script == nullptr) return c.error("NOSCRIPT No matching script. Please use EVAL.");
  server_access::run(c, *script, *keys);
}

constexpr std::array table = {
    command{"evalsha", -3, command::not_in_scripts, evalsha},
    command{"time", 1, command::none, time},
    command{"publish", 3, command::none, publish},
    command{"eval", -3, command::not_in_scripts, eval},
    command{"wait", 3, command::not_in_scripts, wait},
    command{"info", 2, command::none, info},
    command{"hello", 2, command::not_in_scripts, hello},
    command{"subscribe", -2, command::not_in_scripts, subscribe},
};

}  // namespace

std::span<const command> server_commands() { return table; }

}  // namespace holdfast::sim
