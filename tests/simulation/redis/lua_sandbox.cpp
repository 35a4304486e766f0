#include "simulation/redis/lua_sandbox.hpp"

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

bool has_one_string(lua_State* lua) { return lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING; }

int refuse(lua_State* lua, std::string_view message) {
  push_error(lua, message.data(), message.size());
  return 1;
}

int error_reply(lua_State* lua) {
  if (!has_one_string(lua)) return refuse(lua, "ERR wrong number or type of arguments");
  // "-CODE words" and "CODE words" are taken as they are, a single word gets a code.
  const char* text = lua_tostring(lua, 1);
  const bool dash = text[0] == '-';
  if (dash) ++text;
  if (std::strchr(text, ' ') == nullptr) text = lua_pushfstring(lua, "ERR %s", text);
  push_error(lua, text, std::strlen(text));
  return 1;
}

int status_reply(lua_State* lua) {
  if (!has_one_string(lua)) return refuse(lua, "ERR wrong number or type of arguments");
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

void push_sha1(lua_State* lua) {
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, 1, &size);
  const std::string hex = text == nullptr ? sha1_hex("") : sha1_hex({text, size});
  lua_pushlstring(lua, hex.data(), hex.size());
}

int sha1hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) {
    refuse(lua, "ERR wrong number of arguments");
    return lua_error(lua);
  }
  push_sha1(lua);
  return 1;
}

int log_nothing(lua_State* /*lua*/) { return 0; }

// pairs() goes in the order of the keys: Lua's own order changes from process to process.
constexpr std::string_view prelude = R"lua(
  local next, type, sort = next, type, table.sort
  local function before(a, b)
    local of_a, of_b = type(a), type(b)
    if of_a ~= of_b then return of_a < of_b end
    return (of_a == 'number' or of_a == 'string') and a < b
  end
  function pairs(t)
    local keys = {}
    for key in next, t do keys[#keys + 1] = key end
    sort(keys, before)
    local at = 0
    return function()
      local value
      repeat
        at = at + 1
        if keys[at] == nil then return nil end
        value = t[keys[at]]
      until value ~= nil
      return keys[at], value
    end
  end
  for _, name in ipairs({'collectgarbage', 'dofile', 'gcinfo', 'loadfile', 'module', 'newproxy', 'print', 'require'}) do
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

/// In place of the table in that global: one that shows the same, and cannot be changed.
void protect(lua_State* lua, const char* name) {
  lua_newtable(lua);
  lua_newtable(lua);
  lua_getglobal(lua, name);
  lua_setfield(lua, -2, "__index");
  set_function(lua, "__newindex", read_only);
  lua_setmetatable(lua, -2);
  lua_setglobal(lua, name);
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

  for (const char* name : {"table", "string", "math", "coroutine"}) protect(lua, name);

  lua_newtable(lua);  // redis
  const std::pair<const char*, lua_CFunction> calls[] = {{"call", call}, {"pcall", protected_call}};
  for (const auto& [name, function] : calls) {
    lua_pushlightuserdata(lua, context);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  }
  set_function(lua, "error_reply", error_reply);
  set_function(lua, "status_reply", status_reply);
  set_function(lua, "sha1hex", sha1hex);
  set_function(lua, "log", log_nothing);
  const char* const levels[] = {"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"};
  for (int level = 0; level < 4; ++level) {
    lua_pushinteger(lua, level);
    lua_setfield(lua, -2, levels[level]);
  }
  lua_newtable(lua);
  set_function(lua, "__newindex", read_only);
  set_guard(lua);
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
