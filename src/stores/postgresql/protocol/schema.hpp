// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/sql/protocol/call.hpp"
#include "stores/sql/protocol/poll.hpp"
#include "stores/sql/protocol/text.hpp"

namespace holdfast::sql::postgresql {

/// The layout of tables and calls, as the routine `layout` answers. Clients with another number refuse the
/// store.
inline constexpr std::int64_t layout_number = 2;  // 1 was never released

/// Each name belongs to one of so many buckets, by its hash. A watch of one name is notified of its bucket.
inline constexpr std::int64_t name_buckets = 128;
static_assert((name_buckets & (name_buckets - 1)) == 0, "the hash is masked");

/// The complete schema, by the names that `naming::quoted` takes.
inline constexpr auto tables = std::to_array<std::string_view>({"locks", "claims", "sweeps"});
/// The roles that may execute a routine, besides the owner: none, because it is a part of others; roles that
/// may look at locks; roles that may lock; everybody.
enum class access : std::uint8_t { part, look, lock, all };
/// A routine with the types of its parameters, as oidvectortypes() says them. Another user may add a routine
/// with the same name and other types. It is never called, because calls name the types of all arguments.
struct routine {
  std::string_view name;
  std::string_view parameters;
  access may_execute{};
};
inline constexpr auto routines = std::to_array<routine>({
    {"now", "", access::part},
    {"changed", "text", access::part},
    {"gone", "bytea, oid", access::part},
    {"bury", "text, bigint, bigint, bigint", access::part},
    {"serve", "text, bigint, bigint, bigint, bigint", access::part},
    {"place", "text, bigint, bigint, bigint, bigint", access::part},
    {"acquire", "text, bytea, bytea, bigint, bigint, bigint, text, boolean", access::lock},
    {"acquire_all", "text, text, bytea, text, text, text, text", access::lock},
    {"find", "text, bytea", access::lock},
    {"look", "text, bytea, bigint, bigint", access::lock},
    {"renew", "bytea", access::lock},
    {"release", "text, bytea, bigint", access::lock},
    {"release_all", "text, text, text", access::lock},
    {"withdraw", "text, bytea", access::lock},
    {"downgrade", "text, bytea, bigint, bigint", access::lock},
    {"annotate", "text, bytea, bigint, text", access::lock},
    {"evict", "text, bigint, bigint", access::lock},
    {"request_release", "text, bigint, bigint, text", access::lock},
    {"inspect_part", "text, bigint, bigint, bigint", access::look},
    {"list_part", "boolean, text, bigint, bigint, bigint", access::look},
    {"sweep", "bigint, bigint, bigint", access::lock},
    {"poll", "bytea, text, text, boolean", access::lock},
    {"settle", "", access::look},
    {"abandon", "bytea", access::lock},
    {"watch", "", access::look},
    {"watch_name", "text", access::look},
    {"unwatch_names", "bigint", access::look},
    {"untrack", "", access::look},
    {"layout", "", access::all},
    {"revision", "", access::all},
});
/// The routines with an access from `from` to `upto`, a line each, as the catalogue has them: names without
/// quotes.
[[nodiscard]] std::string bare_routines(const naming& names, access from, access upto);
/// Whether a table with one of Holdfast's names is Holdfast's. \param columns "name type, …".
[[nodiscard]] bool is_ours(std::string_view table, std::string_view columns);

/// The revision of the routines that this version makes, as the routine `revision` answers before a hash of
/// their text. A change of a routine raises it: a client replaces older routines, and keeps newer ones.
inline constexpr std::int64_t revision_number = 3;

/// Returns the statements that make the tables and routines, or replace older routines, for one transaction.
/// \param names with a schema: the routines name every table and routine in full, and look up everything else
/// in pg_catalog only, so that they run no operators and functions of other users.
/// \param owner a role that is trusted like the user's own, or empty. An object of an untrusted role ends the
/// transaction before it is written or called.
[[nodiscard]] std::string schema(const naming& names, std::string_view owner);

/// The start of a statement, WITH …: `part`, the existing objects of the store with their owners, and
/// `trusted`, the roles whose objects a client may run. It contains {OWNER}, for an expression: the role that
/// the URL names.
[[nodiscard]] std::string owners(const naming& names);
/// The SQLSTATE with which `schema` refuses, and the end of the message about an object of an untrusted role.
inline constexpr std::string_view stranger_state = "HF001";
/// The SQLSTATE with which the routine of the fences refuses an older token. The standard leaves classes that
/// begin with I to Z to implementations.
inline constexpr std::string_view fenced_state = "XHF01";
inline constexpr std::string_view stranger_advice =
    ", who is neither this user, nor a superuser, nor the owner of the database; Holdfast runs nothing of "
    "it. Name another table with table=, or trust that role with owner=";

/// Returns the statements that let a role lock, or look only: rights to execute routines, and no rights to
/// tables.
/// \param role a role of the server, or "public" for everybody; plain, see `is_plain_role`.
[[nodiscard]] std::string grants(const naming& names, std::string_view role, access to);
/// Whether a role's name can be part of a statement without quotes.
[[nodiscard]] bool is_plain_role(std::string_view name);

/// Returns the same as a file for psql: one transaction, which excludes other sessions that make the tables.
/// Without a schema in `names` it makes the tables in "public".
/// \param lockers, lookers roles that get the rights. \param owner see `schema`.
[[nodiscard]] std::string script(const naming& names, const std::vector<std::string>& lockers = {},
                                 const std::vector<std::string>& lookers = {}, std::string_view owner = {});

/// Returns the statements that make the table of fences and its routine, for one transaction.
/// \param names of `fences_in`, with a schema. \param owner see `schema`.
[[nodiscard]] std::string fences(const naming& names, std::string_view owner);
/// Returns the statements that let a role call the routine of the fences. \param role as in `grants`.
[[nodiscard]] std::string fence_grants(const naming& names, std::string_view role);
/// Returns the same as a file for psql, as `script` does. \param callers roles that get the right.
[[nodiscard]] std::string fence_script(const naming& names, const std::vector<std::string>& callers = {},
                                       std::string_view owner = {});

/// Returns the call of a routine as a statement, with its parameters as $1, $2, ….
[[nodiscard]] std::string statement_of(const sql::call& call, const naming& names);

/// Returns the question as a call of the routine `poll`.
[[nodiscard]] sql::call poll_of(const poll_question& question);
/// Returns the statement that comes first in each transaction of a session that other clients use, too.
[[nodiscard]] std::string settling_of(const naming& names);

/// The channel of the notifications about a client's claims: "owner token", with a negative token for a
/// revocation.
[[nodiscard]] std::string channel_of(const owner_id& client);
/// The advisory lock under which the tables are made: two numbers, "a, b".
[[nodiscard]] std::string making_key(const naming& names);

}  // namespace holdfast::sql::postgresql
