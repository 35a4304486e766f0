#pragma once

#include <lua.hpp>

#include "protocol/redis/value.hpp"

namespace holdfast::sim {

/// Pushes what a command answered, as redis.call gives it to a script.
/// \param status whether it is a simple string: {ok=...}
void push_reply(lua_State* lua, const redis::value& reply, bool status);

/// What a script's result becomes on its way to the client.
void read_result(lua_State* lua, int index, redis::value& reply);

/// Pushes {err=...}.
void push_error(lua_State* lua, const char* message, std::size_t size);

/// The text on top, if it is what Lua 5.4 says of a value that cannot be used so, in 5.1's words: "attempt to
/// index a nil value (local 'x')" becomes "attempt to index local 'x' (a nil value)".
void put_in_words_of_5_1(lua_State* lua);

}  // namespace holdfast::sim
