// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulation/redis/dataset.hpp"
#include "simulation/redis/numbers.hpp"
#include "stores/redis/protocol/resp.hpp"

struct lua_State;

namespace holdfast::sim {

/// What a script asks its server for.
class script_host {
 public:
  /// One redis.call or redis.pcall. \return whether the reply is a simple string.
  virtual bool call_from_script(std::span<const std::string_view> arguments, redis::value& reply) = 0;
  script_host() = default;
  script_host(const script_host&) = default;
  script_host& operator=(const script_host&) = default;

 protected:
  ~script_host() = default;
};

/// LuaJIT, which speaks Lua 5.1, dressed as the Lua of a Redis 7: the same globals as far as scripts of locks
/// need them, the same conversions of values both ways. It remembers what it compiled, for all servers of its
/// thread.
///
/// What differs: of a command that a function ends with (`return redis.call(...)`) an error does not say the
/// line. There are no pairs(), cjson, bit, struct, cmsgpack, math.random.
class interpreter {
 public:
  static interpreter& of_this_thread();

  interpreter();
  ~interpreter();
  interpreter(const interpreter&) = delete;
  interpreter& operator=(const interpreter&) = delete;

  struct script {
    std::string sha;
    int function = 0;  // a place in Lua's registry
  };
  /// \return null, and why in `error`, for a text that is no Lua. Valid as long as the interpreter.
  const script* compile(std::string_view text, std::string& error);
  /// The reply is the script's, or the error that ended it.
  void run(const script& s, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments, script_host& host, redis::value& reply);

 private:
  static int redis_call(lua_State* lua);
  static int redis_pcall(lua_State* lua);
  /// Leaves the reply on Lua's stack. \return whether it is an error.
  bool perform(lua_State* lua);
  void collect_garbage();
  void set_global_list(const char* name, std::span<const std::string_view> arguments);

  lua_State* lua_;
  script_host* host_ = nullptr;
  std::vector<std::string_view> arguments_;
  std::vector<double_text> numbers_;  // of these
  redis::value reply_;
  std::unordered_map<std::string, script, dataset::text_hash, std::equal_to<>> scripts_;  // by their text
  int globals_ = 0;  // places in Lua's registry
  int error_handler_ = 0;
};

}  // namespace holdfast::sim
