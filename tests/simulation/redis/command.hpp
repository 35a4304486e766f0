// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "simulation/redis/dataset.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::sim {

class redis_model;
struct connection;

namespace says {
inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view syntax = "ERR syntax error";
inline constexpr std::string_view not_an_integer = "ERR value is not an integer or out of range";
inline constexpr std::string_view not_a_float = "ERR value is not a valid float";
}  // namespace says

/// One command on its way: what was asked, of whom, and the place for the reply, which begins as null.
struct call {
  redis_model& server;
  dataset& data;
  connection& by;
  std::span<const std::string_view> arguments;
  redis::value& reply;
  bool in_script = false;
  bool status = false;  // the reply is a simple string: Lua sees {ok=...}

  [[nodiscard]] std::size_t size() const { return arguments.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t index) const { return arguments[index]; }

  void number(std::int64_t n) {
    reply.type = redis::value::kind::number;
    reply.number = n;
  }
  void text(std::string_view t) {
    reply.type = redis::value::kind::text;
    reply.text = t;
  }
  void simple(std::string_view t) {
    text(t);
    status = true;
  }
  void error(std::string_view t) {
    reply.items.clear();
    reply.type = redis::value::kind::error;
    reply.text = t;
  }
  void list() { reply.type = redis::value::kind::list; }
  void add_text(std::string_view t);
  void add_null() { reply.items.emplace_back(); }

  /// The content of that key if it is a T; else null. With `wrong` set, and an error for reply, if it is
  /// something else.
  template <class T>
  [[nodiscard]] dataset::slot* find(std::string_view key, bool& wrong) {
    dataset::slot* s = data.find(key);
    wrong = s != nullptr && !std::holds_alternative<T>(s->second.value);
    if (wrong) error(says::wrong_type);
    return s;
  }
};

struct command {
  enum flags : std::uint8_t {
    none = 0,
    writes = 1,
    not_in_scripts = 2,
    grows = 4,  // may take memory, and is refused where there is none
    writes_more = writes | grows,
  };

  std::string_view name;
  int arity;  // number of arguments with the name; negative: at least
  int flag;
  void (*run)(call&);
};

/// The commands, by what they are about.
std::span<const command> key_commands();
std::span<const command> sorted_set_commands();
std::span<const command> server_commands();

/// \return null if there is none. In upper or lower case.
const command* find_command(std::string_view name);

/// Whether the argument is this keyword; `lower` is in lower case.
[[nodiscard]] bool is_keyword(std::string_view argument, std::string_view lower);

}  // namespace holdfast::sim
