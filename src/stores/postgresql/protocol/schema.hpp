#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/sql/protocol/call.hpp"

namespace holdfast::sql::postgresql {

/// The layout of tables and calls, as the routine `layout` answers. Clients with another number refuse the
/// store.
inline constexpr std::int64_t layout_number = 1;

/// The complete schema, by the names that `naming::quoted` takes.
inline constexpr auto tables = std::to_array<std::string_view>({"locks", "claims", "sweeps"});
/// Who may execute a routine, besides the owner: nobody, since it is a part of others; roles that may look at
/// locks; roles that may lock; everybody.
enum class access : std::uint8_t { part, look, lock, all };
/// A routine with the types of its parameters, as oidvectortypes() says them. A stranger may add another of
/// the same name with other types, which is none of ours and is never called: calls name the types of all
/// their arguments.
struct routine {
  std::string_view name;
  std::string_view parameters;
  access may_execute{};
};
inline constexpr auto routines = std::to_array<routine>({
    {"now", "", access::part},
    {"changed", "", access::part},
    {"gone", "bytea, oid", access::part},
    {"bury", "text, bigint, bigint, bigint", access::part},
    {"serve", "text, bigint, bigint, bigint, bigint", access::part},
    {"place", "text, bigint, bigint, bigint, bigint", access::part},
    {"acquire", "text, bytea, bytea, bigint, bigint, bigint, text, boolean", access::lock},
    {"find", "text, bytea", access::lock},
    {"look", "text, bytea, bigint, bigint", access::lock},
    {"renew", "bytea", access::lock},
    {"extend", "bytea", access::lock},
    {"release", "text, bytea, bigint", access::lock},
    {"withdraw", "text, bytea", access::lock},
    {"downgrade", "text, bytea, bigint, bigint", access::lock},
    {"evict", "text, bigint, bigint", access::lock},
    {"inspect", "text", access::look},
    {"list", "boolean", access::look},
    {"page", "boolean, text, bigint", access::look},
    {"sweep", "bigint, bigint, bigint", access::lock},
    {"abandon", "bytea", access::lock},
    {"watch", "", access::look},
    {"track", "", access::look},
    {"untrack", "", access::look},
    {"layout", "", access::all},
    {"revision", "", access::all},
});
/// Whether a table of one of our names is ours, of this or an older version. \param columns "name type, …".
[[nodiscard]] bool is_ours(std::string_view table, std::string_view columns);

/// The age of a store's routines, and their text. A change of a routine raises the
/// number: a client puts newer routines in the place of older ones, and leaves newer ones alone.
struct revision {
  std::int64_t number = 0;  // zero: older than those that say it
  std::string fingerprint;

  /// "2 5f0c…", as the routine answers. Another text is no revision: zero.
  [[nodiscard]] static revision parse(std::string_view text);
  [[nodiscard]] std::string text() const { return std::to_string(number) + ' ' + fingerprint; }
  friend bool operator==(const revision&, const revision&) = default;
};
/// Of the routines that this version makes.
[[nodiscard]] const revision& own_revision();

/// Everything that makes the tables and routines, or makes routines of an older text anew: statements for one
/// transaction, to be run as they are.
/// \param names with a schema: in the routines every table and routine is named in full, and everything else
/// is looked for in pg_catalog alone, so that nobody's operators and functions are run in their stead.
/// \param owner a role that is trusted like the user's own, or empty: what belongs to a role that is not
/// trusted ends the transaction, before anything of it is written or called.
[[nodiscard]] std::string schema(const naming& names, std::string_view owner);

/// The start of a statement, WITH …: `part`, what of the store there is with its owners, and `trusted`, whose
/// objects a client may run. Has the place {OWNER}, for an expression: the role that the URL names.
[[nodiscard]] std::string owners(const naming& names);
/// With which SQLSTATE `schema` refuses, and what a message about a stranger's object ends with.
inline constexpr std::string_view stranger_state = "HF001";
inline constexpr std::string_view stranger_advice =
    ", who is neither this user, nor a superuser, nor the owner of the database; nothing of it is run. Name "
    "another table with table=, or, where that role is to be trusted, say so with owner=";

/// Statements by which a role may lock, or may only look: the rights to execute what that takes, and no right
/// to a table.
/// \param role as the server has it, or "public" for everybody; plain, see `is_plain_role`.
[[nodiscard]] std::string grants(const naming& names, std::string_view role, access to);
/// Whether a role's name can stand in a statement.
[[nodiscard]] bool is_plain_role(std::string_view name);

/// The same as a file for psql: one transaction, for which other sessions that make the tables wait. Without
/// a schema in `names` it makes the tables in "public".
/// \param lockers, lookers roles that get the rights for it. \param owner see `schema`.
[[nodiscard]] std::string script(const naming& names, const std::vector<std::string>& lockers = {},
                                 const std::vector<std::string>& lookers = {}, std::string_view owner = {});

/// The call of a routine as a statement, with its parameters as $1, $2, ….
[[nodiscard]] std::string statement_of(const sql::call& call, const naming& names);

/// The channel of the notifications about a client's claims: "owner token", with the token negative when
/// revoked.
[[nodiscard]] std::string channel_of(const owner_id& client);
/// The advisory lock under which the tables are made: two numbers, "a, b".
[[nodiscard]] std::string making_key(const naming& names);

}  // namespace holdfast::sql::postgresql
