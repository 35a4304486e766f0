// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/lua_sandbox.hpp"

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "simulation/redis/lua_values.hpp"
#include "simulation/redis/sha1.hpp"

// Lua is C and leaves functions by longjmp: no object with a destructor is alive where an error can be
// raised.

namespace holdfast::sim {

namespace {

int unknown_global(lua_State* lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
}

int read_only(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

/// As Redis changed it: a caught {err=...} is its text.
int pcall(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0) == LUA_OK) {
    lua_pushboolean(lua, 1);
    lua_insert(lua, 1);
    return lua_gettop(lua);
  }
  if (lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1) != 0)
      lua_replace(lua, -2);
    else
      lua_pop(lua, 1);
  }
  lua_pushboolean(lua, 0);
  lua_insert(lua, -2);
  return 2;
}

/// "CODE words" and "-CODE words" are taken as they are.
int error_reply(lua_State* lua) {
  const char* text = luaL_checkstring(lua, 1);
  if (text[0] == '-') ++text;
  push_error(lua, text, std::strlen(text));
  return 1;
}

int sha1hex(lua_State* lua) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(lua, 1, &size);
  std::array<char, 40> digits{};
  sha1_hex({text, size}).copy(digits.data(), digits.size());
  lua_pushlstring(lua, digits.data(), digits.size());
  return 1;
}

/// What a script must not use: it is absent in Redis, or differs from run to run, as the order of pairs().
constexpr std::string_view prelude = R"lua(
  for _, name in ipairs({'collectgarbage', 'dofile', 'gcinfo', 'loadfile', 'module', 'newproxy', 'pairs', 'print',
                         'require'}) do
    _G[name] = nil
  end
  math.random, math.randomseed = nil, nil
)lua";

constexpr luaL_Reg libraries[] = {
    {"", luaopen_base}, {"table", luaopen_table}, {"string", luaopen_string}, {"math", luaopen_math}};

void set_function(lua_State* lua, const char* name, lua_CFunction function) {
  lua_pushcfunction(lua, function);
  lua_setfield(lua, -2, name);
}

/// Gives the table below the top the table on top as its guard.
void set_guard(lua_State* lua) { lua_setmetatable(lua, -2); }

}  // namespace

void open_sandbox(lua_State* lua, lua_CFunction call, lua_CFunction protected_call, void* context) {
  for (const auto& [name, open] : libraries) {
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
  }
  luaL_loadbufferx(lua, prelude.data(), prelude.size(), "=prelude", "t");
  lua_call(lua, 0, 0);

  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  set_function(lua, "pcall", pcall);

  lua_newtable(lua);  // redis
  const std::pair<const char*, lua_CFunction> calls[] = {{"call", call}, {"pcall", protected_call}};
  for (const auto& [name, function] : calls) {
    lua_pushlightuserdata(lua, context);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  }
  set_function(lua, "error_reply", error_reply);
  set_function(lua, "sha1hex", sha1hex);
  lua_setfield(lua, -2, "redis");

  lua_newtable(lua);
  set_function(lua, "__index", unknown_global);
  set_guard(lua);

  lua_newtable(lua);  // what scripts see as their globals
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "_G");
  lua_newtable(lua);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  set_function(lua, "__newindex", read_only);
  set_guard(lua);
  lua_replace(lua, LUA_GLOBALSINDEX);
}

int describe_error(lua_State* lua) {
  lua_settop(lua, 1);
  if (!lua_istable(lua, 1)) {
    const char* text = lua_tostring(lua, 1);
    text = lua_pushfstring(lua, "ERR %s", text == nullptr ? luaL_typename(lua, 1) : text);
    push_error(lua, text, std::strlen(text));
    lua_replace(lua, 1);
    lua_settop(lua, 1);
  }
  lua_Debug where{};
  bool known = lua_getstack(lua, 1, &where) != 0 && lua_getinfo(lua, "Sl", &where) != 0;
  if (known && std::strcmp(where.source, "=[C]") == 0) {
    known = lua_getstack(lua, 2, &where) != 0 && lua_getinfo(lua, "Sl", &where) != 0;
  }
  if (known) {
    lua_pushstring(lua, where.source);
    lua_setfield(lua, 1, "source");
    lua_pushinteger(lua, where.currentline);
    lua_setfield(lua, 1, "line");
  }
  return 1;
}

}  // namespace holdfast::sim
