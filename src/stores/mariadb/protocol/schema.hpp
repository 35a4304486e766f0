#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/sql/protocol/call.hpp"

namespace holdfast::sql::mariadb {

/// The layout of tables and procedures, as the procedure `layout` answers it. A change of an .sql file of
/// this folder that makes old and new clients differ raises it, here, in layout.sql, and in the comments.
inline constexpr std::int64_t layout = 1;

/// How existing procedures are treated.
enum class existing : std::uint8_t { kept, replaced };

/// All that makes a store, each to be sent as one statement, in this order: tables, then procedures, `layout`
/// last. Tables that are there already stay as they are.
[[nodiscard]] std::vector<std::string> schema_of(const naming& names,
                                                 existing procedures_there = existing::kept);

/// The comment of a procedure as this Holdfast makes it: "Holdfast 1" and a hash of the texts of all
/// procedures. One that has another hash is of an older or newer Holdfast with the same layout.
[[nodiscard]] std::string current_comment();

/// The same as `schema_of`, replacing procedures, with what a session is to be set to, for the server's own
/// command line client to run.
[[nodiscard]] std::string script(const naming& names);

/// What a session is set to before anything else, each to be sent as one statement.
[[nodiscard]] std::vector<std::string> session_settings();

/// The comment of a table of Holdfast: "Holdfast claims 1". Other tables are not touched.
[[nodiscard]] std::string comment_of(std::string_view part);

/// The start of the comment of a procedure of Holdfast: "Holdfast 1". Other procedures are not called.
inline constexpr std::string_view procedure_comment = "Holdfast ";

/// The parts of the name of each table: "locks", "claims" ...
[[nodiscard]] const std::vector<std::string_view>& table_parts();

/// The parts of the name of each procedure: "acquire", "find" ...
[[nodiscard]] const std::vector<std::string_view>& procedure_parts();

/// The quoted name of the procedure that a statement of `schema_of` makes.
[[nodiscard]] std::string procedure_in(const std::string& statement);

/// The text of a call with a question mark for each parameter, to be prepared.
[[nodiscard]] std::string text_of(const sql::call& call, const naming& names);

/// The lock that a client's session holds at the server for as long as it lives, by which others find it:
/// the one for calls, or its bell. See ring.sql.
[[nodiscard]] std::string lock_of(const owner_id& client, bool bell);

/// Whether a server that answers this to `SELECT @@global.read_only` may be written. Up to MariaDB 12.0 and
/// in MySQL it is a number; from then on a name: OFF, ON, NO_LOCK, NO_LOCK_NO_ADMIN.
[[nodiscard]] bool is_writable(std::string_view read_only);

/// A notification that has been received, as the procedure `listen` takes it.
[[nodiscard]] std::string seen_notification(const owner_id& owner, std::int64_t token);

}  // namespace holdfast::sql::mariadb
