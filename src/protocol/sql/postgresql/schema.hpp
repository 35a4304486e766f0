#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/sql/call.hpp"

namespace holdfast::sql::postgresql {

/// As the routine `layout` answers. Higher ones are a newer Holdfast's.
inline constexpr std::int64_t layout_number = 1;

/// What there is when all is there, by the names that `naming::quoted` takes.
inline constexpr auto tables = std::to_array<std::string_view>({"locks", "claims", "sweeps"});
inline constexpr auto routines = std::to_array<std::string_view>(
    {"now",     "changed", "gone",  "bury",    "serve",    "place",     "acquire",
     "find",    "look",    "renew", "release", "withdraw", "downgrade", "evict",
     "inspect", "list",    "sweep", "abandon", "track",    "untrack",   "layout"});
/// Of a table, as "name type, …": by these ours is known from another's.
[[nodiscard]] std::string_view columns_of(std::string_view table);

/// Everything that makes the tables and routines, or makes routines of an older text anew: statements for one
/// transaction, to be run as they are.
[[nodiscard]] std::string schema(const naming& names);

/// The same as a file for psql: one transaction, in which whoever else is at it waits.
[[nodiscard]] std::string script(const naming& names);

/// The call of a routine as a statement, with its parameters as $1, $2, ….
[[nodiscard]] std::string statement_of(const call& what, const naming& names);

/// Where a client hears words about its claims: "owner token" each, with the token negative when revoked.
[[nodiscard]] std::string channel_of(const owner_id& client);
/// The advisory lock that those who watch hold together, for as long as they do: two numbers, "a, b".
[[nodiscard]] std::string watch_key(const naming& names);
/// The one that whoever makes the tables has alone meanwhile.
[[nodiscard]] std::string making_key(const naming& names);

}  // namespace holdfast::sql::postgresql
