// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/lua_values.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace holdfast::sim {

namespace {

using kind = redis::value::kind;

std::int64_t truncated(lua_Number n) {
  constexpr lua_Number limit = 9223372036854775808.0;  // 2^63
  if (n >= -limit && n < limit) return static_cast<std::int64_t>(n);
  return std::numeric_limits<std::int64_t>::min();  // as x86 does
}

/// \return whether the table has such a field, a string, which is then in the reply.
bool read_field(lua_State* lua, int index, const char* name, kind type, redis::value& reply) {
  lua_pushstring(lua, name);
  lua_rawget(lua, index);
  const bool found = lua_type(lua, -1) == LUA_TSTRING;
  if (found) {
    std::size_t size = 0;
    const char* text = lua_tolstring(lua, -1, &size);
    reply.type = type;
    reply.text.assign(text, size);
  }
  lua_pop(lua, 1);
  return found;
}

void read_items(lua_State* lua, int index, redis::value& reply) {
  reply.type = kind::list;
  luaL_checkstack(lua, 4, "a reply nested too deeply");
  for (int i = 1;; ++i) {
    lua_rawgeti(lua, index, i);
    if (lua_isnil(lua, -1)) {  // the first nil ends the list
      lua_pop(lua, 1);
      return;
    }
    read_result(lua, lua_gettop(lua), reply.items.emplace_back());
    lua_pop(lua, 1);
  }
}

}  // namespace

void push_reply(lua_State* lua, const redis::value& reply, bool status) {
  switch (reply.type) {
    case kind::null: return lua_pushboolean(lua, 0);
    case kind::number: return lua_pushnumber(lua, static_cast<lua_Number>(reply.number));
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
  int at = 0;
  for (const redis::value& item : reply.items) {
    push_reply(lua, item, false);
    lua_rawseti(lua, -2, ++at);
  }
}

void read_result(lua_State* lua, int index, redis::value& reply) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
      reply.type = kind::number;
      reply.number = truncated(lua_tonumber(lua, index));
      return;
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, index, &size);
      reply.type = kind::text;
      reply.text.assign(text, size);
      return;
    }
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, index) != 0) {
        reply.type = kind::number;
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

void push_error(lua_State* lua, const char* message, std::size_t size) {
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, message, size);
  lua_setfield(lua, -2, "err");
}

}  // namespace holdfast::sim
