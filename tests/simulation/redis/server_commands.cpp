#include <algorithm>
#include <array>
#include <string>

#include "simulation/redis/numbers.hpp"
#include "simulation/redis/server_access.hpp"

namespace holdfast::sim {

namespace {

void ping(call& c) {
  if (c.size() > 2) return c.error("ERR wrong number of arguments for 'ping' command");
  if (c.size() == 2)
    c.text(c[1]);
  else
    c.simple("PONG");
}

bool log_in(call& c, std::string_view user, std::string_view password) {
  const std::string& wanted = server_access::settings(c).password;
  if (user == "default" && (wanted.empty() || password == wanted)) return c.by.authenticated = true;
  c.error("WRONGPASS invalid username-password pair or user is disabled.");
  return false;
}

void auth(call& c) {
  if (c.size() > 3) return c.error(says::syntax);
  if (c.size() == 2 && server_access::settings(c).password.empty()) {
    return c.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
        "configuration is correct?");
  }
  if (log_in(c, c.size() == 3 ? c[1] : "default", c[c.size() - 1])) c.ok();
}

void hello(call& c) {
  std::size_t at = 1;
  bool resp3 = c.by.resp3;
  if (c.size() > at) {
    const auto version = integer_in(c[at++]);
    if (!version) return c.error("ERR Protocol version is not an integer or out of range");
    if (*version != 2 && *version != 3) return c.error("NOPROTO unsupported protocol version");
    resp3 = *version == 3;
  }
  if (c.size() >= at + 3 && is_keyword(c[at], "auth")) {
    if (!log_in(c, c[at + 1], c[at + 2])) return;
    at += 3;
  }
  if (c.size() >= at + 2 && is_keyword(c[at], "setname")) {
    c.by.name = c[at + 1];
    at += 2;
  }
  if (at != c.size()) return c.error("ERR Syntax error in HELLO option '" + std::string{c[at]} + "'");
  if (!c.by.authenticated) {
    return c.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
        "<user> "
        "<pass> option can be used to authenticate the client and select the RESP protocol version at the "
        "same time");
  }
  c.by.resp3 = resp3;
  c.list();
  const auto pair = [&](std::string_view name, std::string_view value) {
    c.add_text(name);
    c.add_text(value);
  };
  pair("server", "redis");
  pair("version", "7.0.15");
  c.add_text("proto");
  c.add_number(resp3 ? 3 : 2);
  c.add_text("id");
  c.add_number(static_cast<std::int64_t>(c.by.id));
  pair("mode", "standalone");
  pair("role", server_access::settings(c).read_only ? "replica" : "master");
  c.add_text("modules");
  redis::value none;
  none.type = redis::value::kind::list;
  c.reply.items.push_back(std::move(none));
}

void select(call& c) {
  const auto index = integer_in(c[1]);
  if (!index) return c.error(says::not_an_integer);
  if (*index != 0) return c.error("ERR DB index is out of range");
  c.ok();
}

void client(call& c) {
  if (is_keyword(c[1], "id")) {
    if (c.size() != 2) return wrong_number_of_arguments(c, "client|id");
    c.number(static_cast<std::int64_t>(c.by.id));
  } else if (is_keyword(c[1], "getname")) {
    if (c.size() != 2) return wrong_number_of_arguments(c, "client|getname");
    if (!c.by.name.empty()) c.text(c.by.name);
  } else if (is_keyword(c[1], "setname")) {
    if (c.size() != 3) return wrong_number_of_arguments(c, "client|setname");
    if (std::any_of(c[2].begin(), c[2].end(), [](char ch) { return ch < '!' || ch > '~'; })) {
      return c.error("ERR Client names cannot contain spaces, newlines or special characters.");
    }
    c.by.name = c[2];
    c.ok();
  } else if (is_keyword(c[1], "kill")) {
    c.number(0);  // the world ends connections itself
  } else if (is_keyword(c[1], "tracking")) {
    c.ok();
  } else {
    unknown_subcommand(c);
  }
}

void time(call& c) {
  const std::int64_t now = server_access::now_us(c);
  c.list();
  c.add_text(std::to_string(now / 1'000'000));
  c.add_text(std::to_string(now % 1'000'000));
}

void wait(call& c) {
  const auto wanted = integer_in(c[1]);
  const auto limit = integer_in(c[2]);
  if (!wanted) return c.error(says::not_an_integer);
  if (!limit) return c.error("ERR timeout is not an integer or out of range");
  if (*limit < 0) return c.error("ERR timeout is negative");
  c.number(server_access::settings(c).replicas);
}

/// Two sections, and of these what clients of ours ask for.
void info(call& c) {
  const redis_model::identity& own = server_access::identity(c);
  std::string text;
  const auto field = [&](std::string_view name, const std::string& value) {
    text.append(name).append(":").append(value).append("\r\n");
  };
  for (const std::string_view section : c.arguments.subspan(1)) {
    if (is_keyword(section, "server")) {
      text += "# Server\r\n";
      field("run_id", own.run);
      field("uptime_in_seconds",
            std::to_string(server_access::now_us(c) / 1'000'000 - own.started_us / 1'000'000));
    } else if (is_keyword(section, "replication")) {
      text += "# Replication\r\n";
      field("role", server_access::settings(c).read_only ? "slave" : "master");
      field("master_replid", own.replication);
      field("master_replid2", own.former_replication);
    }
  }
  c.text(text);
}

void publish(call& c) { c.number(server_access::publish(c, c[1], c[2])); }

void subscribe(call& c) {
  for (const std::string_view channel : c.arguments.subspan(1)) server_access::subscribe(c, channel);
}

void unsubscribe(call& c) {
  if (c.size() > 1) {
    for (const std::string_view channel : c.arguments.subspan(1)) server_access::unsubscribe(c, channel);
    return;
  }
  for (const std::string& channel : server_access::channels_of(c)) server_access::unsubscribe(c, channel);
  c.reply.type = redis::value::kind::push;
}

constexpr int outside = command::not_in_scripts;

constexpr std::array table = {
    command{"ping", -1, command::none, ping},
    command{"auth", -2, outside | command::before_auth, auth},
    command{"hello", -1, outside | command::before_auth, hello},
    command{"select", 2, command::none, select},
    command{"client", -2, outside, client},
    command{"time", 1, command::none, time},
    command{"wait", 3, outside, wait},
    command{"info", -1, command::none, info},
    command{"publish", 3, command::none, publish},
    command{"subscribe", -2, outside, subscribe},
    command{"unsubscribe", -1, outside, unsubscribe},
};

}  // namespace

std::span<const command> server_commands() { return table; }

}  // namespace holdfast::sim
