#include "sim/redis/lua_values.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace holdfast::sim {

namespace {

using kind = redis::value::kind;

// Lua 5.1 has doubles only.
constexpr std::int64_t exact_in_double = std::int64_t{1} << 53;

void push_number(lua_State* lua, std::int64_t n) {
  if (n >= -exact_in_double && n <= exact_in_double)
    lua_pushinteger(lua, n);
  else
    lua_pushnumber(lua, static_cast<lua_Number>(n));
}

std::int64_t truncated(lua_Number n) {
  constexpr lua_Number limit = 9223372036854775808.0;  // 2^63
  if (n >= -limit && n < limit) return static_cast<std::int64_t>(n);
  return std::numeric_limits<std::int64_t>::min();  // as x86 does
}

/// \return whether the table has such a field, a string, which is then in the reply.
bool read_field(lua_State* lua, int index, const char* name, kind what, redis::value& reply) {
  lua_pushstring(lua, name);
  lua_rawget(lua, index);
  const bool found = lua_type(lua, -1) == LUA_TSTRING;
  if (found) {
    std::size_t size = 0;
    const char* text = lua_tolstring(lua, -1, &size);
    reply.what = what;
    reply.text.assign(text, size);
  }
  lua_pop(lua, 1);
  return found;
}

void read_items(lua_State* lua, int index, redis::value& reply) {
  reply.what = kind::list;
  luaL_checkstack(lua, 4, "a reply nested too deeply");
  for (lua_Integer i = 1;; ++i) {
    if (lua_geti(lua, index, i) == LUA_TNIL) {  // the first nil ends the list
      lua_pop(lua, 1);
      return;
    }
    read_result(lua, lua_gettop(lua), reply.items.emplace_back());
    lua_pop(lua, 1);
  }
}

}  // namespace

void push_reply(lua_State* lua, const redis::value& reply, bool status) {
  switch (reply.what) {
    case kind::null: return lua_pushboolean(lua, 0);
    case kind::number: return push_number(lua, reply.number);
    case kind::error: return push_error(lua, reply.text.data(), reply.text.size());
    case kind::text:
      if (status) lua_createtable(lua, 0, 1);
      lua_pushlstring(lua, reply.text.data(), reply.text.size());
      if (status) lua_setfield(lua, -2, "ok");
      return;
    case kind::list:
    case kind::push: break;
  }
  luaL_checkstack(lua, 4, "a reply nested too deeply");
  lua_createtable(lua, static_cast<int>(reply.items.size()), 0);
  lua_Integer at = 0;
  for (const redis::value& item : reply.items) {
    push_reply(lua, item, false);
    lua_rawseti(lua, -2, ++at);
  }
}

void read_result(lua_State* lua, int index, redis::value& reply) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
      reply.what = kind::number;
      reply.number = truncated(lua_tonumber(lua, index));
      return;
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, index, &size);
      reply.what = kind::text;
      reply.text.assign(text, size);
      return;
    }
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, index) != 0) {
        reply.what = kind::number;
        reply.number = 1;
      }
      return;
    case LUA_TTABLE:
      if (read_field(lua, index, "err", kind::error, reply)) return;
      if (read_field(lua, index, "ok", kind::text, reply)) return;
      return read_items(lua, index, reply);
    default: return;  // null
  }
}

void put_in_words_of_5_1(lua_State* lua) {
  if (lua_type(lua, -1) != LUA_TSTRING) return;
  const char* const text = lua_tostring(lua, -1);
  const char* const attempt = std::strstr(text, "attempt to ");
  const char* const type = attempt == nullptr ? nullptr : std::strstr(attempt, " a ");
  const char* const name = type == nullptr ? nullptr : std::strstr(type, " value (");
  if (name == nullptr) return;
  constexpr std::size_t before_name = 8;  // " value ("
  const std::size_t type_size = static_cast<std::size_t>(name - type) + 6;
  lua_pushlstring(lua, text, static_cast<std::size_t>(type - text) + 1);
  lua_pushlstring(lua, name + before_name, std::strlen(name + before_name) - 1);
  lua_pushliteral(lua, " (");
  lua_pushlstring(lua, type + 1, type_size - 1);
  lua_pushliteral(lua, ")");
  lua_concat(lua, 5);
  lua_replace(lua, -2);
}

void push_error(lua_State* lua, const char* message, std::size_t size) {
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, message, size);
  lua_setfield(lua, -2, "err");
}

}  // namespace holdfast::sim
