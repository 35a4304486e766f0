// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

#include "stores/redis/protocol/resp.hpp"

namespace holdfast::sim {

/// Pushes what a command answered, as redis.call gives it to a script.
/// \param status whether it is a simple string: {ok=...}
void push_reply(lua_State* lua, const redis::value& reply, bool status);

/// What a script's result becomes on its way to the client.
void read_result(lua_State* lua, int index, redis::value& reply);

/// Pushes {err=...}.
void push_error(lua_State* lua, const char* message, std::size_t size);

}  // namespace holdfast::sim
