// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

namespace holdfast::sim {

/// Makes the globals of a new Lua those of a script in Redis, on a table left on the stack; what scripts see
/// is an empty table before it, which lets nothing be assigned.
/// \param call, pcall redis.call and redis.pcall, with `context` as their first upvalue
void open_sandbox(lua_State* lua, lua_CFunction call, lua_CFunction pcall, void* context);

/// What happens to an error on its way out of a script: a table, with the place where it came up.
int describe_error(lua_State* lua);

}  // namespace holdfast::sim
