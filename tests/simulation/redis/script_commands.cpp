#include <array>
#include <string>

#include "simulation/redis/numbers.hpp"
#include "simulation/redis/server_access.hpp"

namespace holdfast::sim {

namespace {

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
  std::string sha{c[1]};
  for (char& digit : sha)
    digit = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit + ('a' - 'A')) : digit;
  const auto* script = server_access::script(c, sha);
  if (script == nullptr) return c.error("NOSCRIPT No matching script. Please use EVAL.");
  server_access::run(c, *script, *keys);
}

void script(call& c) {
  if (is_keyword(c[1], "load")) {
    if (c.size() != 3) return wrong_number_of_arguments(c, "script|load");
    if (const auto* script = server_access::load(c, c[2])) c.text(script->sha);
  } else if (is_keyword(c[1], "exists")) {
    if (c.size() < 3) return wrong_number_of_arguments(c, "script|exists");
    c.list();
    for (const std::string_view sha : c.arguments.subspan(2))
      c.add_number(server_access::script(c, sha) != nullptr);
  } else if (is_keyword(c[1], "flush")) {
    if (c.size() > 3 || (c.size() == 3 && !is_keyword(c[2], "sync") && !is_keyword(c[2], "async"))) {
      return c.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
    }
    server_access::forget_scripts(c);
    c.ok();
  } else {
    unknown_subcommand(c);
  }
}

constexpr std::array table = {
    command{"eval", -3, command::not_in_scripts, eval},
    command{"evalsha", -3, command::not_in_scripts, evalsha},
    command{"script", -2, command::not_in_scripts, script},
};

}  // namespace

std::span<const command> script_commands() { return table; }

}  // namespace holdfast::sim
