// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/interpreter.hpp"

#include <lua.hpp>
#include <new>

#include "simulation/redis/lua_sandbox.hpp"
#include "simulation/redis/lua_values.hpp"
#include "simulation/redis/numbers.hpp"
#include "simulation/redis/sha1.hpp"

namespace holdfast::sim {

namespace {

interpreter& behind(lua_State* lua) {
  return *static_cast<interpreter*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

/// "-ERR words script: 6e10..., on @user_script:1."
void read_error(lua_State* lua, const std::string& sha, redis::value& reply) {
  reply.type = redis::value::kind::error;
  const auto field = [&](const char* name) {
    lua_getfield(lua, -1, name);
    const char* text = lua_tostring(lua, -1);
    std::string kept = text == nullptr ? "" : text;
    lua_pop(lua, 1);
    return kept;
  };
  reply.text = field("err");
  const std::string source = field("source");
  const std::string line = field("line");
  if (!source.empty()) reply.text += " script: " + sha + ", on " + source + ":" + line + ".";
}

}  // namespace

interpreter& interpreter::of_this_thread() {
  thread_local interpreter one;
  return one;
}

interpreter::interpreter() : lua_{luaL_newstate()} {
  if (lua_ == nullptr) throw std::bad_alloc{};
  open_sandbox(lua_, redis_call, redis_pcall, this);
  globals_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
  lua_pushcfunction(lua_, describe_error);
  error_handler_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
  // Each call of a command ends a trace: its compiler costs a fifth of a run, and gains nothing. Its
  // interpreter is fast.
  luaJIT_setmode(lua_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  lua_gc(lua_, LUA_GCSTOP, 0);
}

interpreter::~interpreter() { lua_close(lua_); }

const interpreter::script* interpreter::compile(std::string_view text, std::string& error) {
  if (const auto known = scripts_.find(text); known != scripts_.end()) return &known->second;
  std::string_view body = text;
  if (body.starts_with("#!")) body.remove_prefix(std::min(body.find('\n'), body.size()));
  if (luaL_loadbufferx(lua_, body.data(), body.size(), "@user_script", "t") != LUA_OK) {
    error = lua_tostring(lua_, -1);
    lua_pop(lua_, 1);
    return nullptr;
  }
  script made{sha1_hex(text), luaL_ref(lua_, LUA_REGISTRYINDEX)};
  return &scripts_.emplace(text, std::move(made)).first->second;
}

void interpreter::set_global_list(const char* name, std::span<const std::string_view> arguments) {
  lua_pushstring(lua_, name);
  lua_createtable(lua_, static_cast<int>(arguments.size()), 0);
  int at = 0;
  for (const std::string_view argument : arguments) {
    lua_pushlstring(lua_, argument.data(), argument.size());
    lua_rawseti(lua_, -2, ++at);
  }
  lua_rawset(lua_, -3);
}

void interpreter::run(const script& s, std::span<const std::string_view> keys,
                      std::span<const std::string_view> arguments, script_host& host, redis::value& reply) {
  host_ = &host;
  lua_settop(lua_, 0);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, error_handler_);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, globals_);
  set_global_list("KEYS", keys);
  set_global_list("ARGV", arguments);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, s.function);
  if (lua_pcall(lua_, 0, 1, 1) == LUA_OK)
    read_result(lua_, lua_gettop(lua_), reply);
  else
    read_error(lua_, s.sha, reply);
  lua_settop(lua_, 0);
  host_ = nullptr;
  collect_garbage();
}

/// Seldom, and all of it: what lives is little, so that a whole round costs less than Lua's own small steps.
void interpreter::collect_garbage() {
  constexpr int enough_kib = 512;
  if (lua_gc(lua_, LUA_GCCOUNT, 0) > enough_kib) lua_gc(lua_, LUA_GCCOLLECT, 0);
}

bool interpreter::perform(lua_State* lua) {
  reply_.type = redis::value::kind::null;
  reply_.items.clear();
  arguments_.clear();
  const auto refuse = [&](std::string_view message) {
    push_error(lua, message.data(), message.size());
    return true;
  };
  const int count = lua_gettop(lua);
  if (count == 0) return refuse("ERR Please specify at least one argument for this redis lib call");
  numbers_.clear();
  numbers_.reserve(static_cast<std::size_t>(count));  // what was read stays where it is
  for (int i = 1; i <= count; ++i) {
    switch (lua_type(lua, i)) {
      case LUA_TSTRING: {
        std::size_t size = 0;
        const char* text = lua_tolstring(lua, i, &size);
        arguments_.emplace_back(text, size);
        break;
      }
      case LUA_TNUMBER: arguments_.push_back(numbers_.emplace_back(lua_tonumber(lua, i)).view()); break;
      default: return refuse("ERR Lua redis lib command arguments must be strings or integers");
    }
  }
  const bool status = host_->call_from_script(arguments_, reply_);
  push_reply(lua, reply_, status);
  return reply_.is(redis::value::kind::error);
}

int interpreter::redis_call(lua_State* lua) {
  if (behind(lua).perform(lua)) return lua_error(lua);
  return 1;
}

int interpreter::redis_pcall(lua_State* lua) {
  behind(lua).perform(lua);
  return 1;
}

}  // namespace holdfast::sim
