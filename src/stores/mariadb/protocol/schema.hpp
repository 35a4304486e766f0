// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/sql/protocol/call.hpp"
#include "stores/sql/protocol/poll.hpp"
#include "stores/sql/protocol/text.hpp"

namespace holdfast::sql::mariadb {

/// The layout of tables and procedures, as the procedure `layout` answers it. A change of an .sql file of
/// this folder that makes old and new clients differ raises it, here, in layout.sql, and in the comments.
inline constexpr std::int64_t layout = 2;  // 1 was never released

/// The revision of the procedures. From 2 on, and where comments have none they are older, they choose the
/// isolation of their transactions, and depend on no setting that SET STATEMENT cannot make for one call.
inline constexpr int revision = 2;

/// How existing procedures are treated.
enum class existing : std::uint8_t { kept, replaced };

/// Returns the statements that make a store, to be sent one by one in this order: tables, then procedures,
/// `layout` last. Existing tables stay as they are.
[[nodiscard]] std::vector<std::string> schema_of(const naming& names,
                                                 existing procedures_there = existing::kept);

/// The comment of a procedure as this Holdfast makes it: "Holdfast 2", a hash of the texts of all procedures,
/// and the revision. Another hash shows an older or newer Holdfast with the same layout.
[[nodiscard]] std::string current_comment();

/// As `schema_of`, with replaced procedures and the session's settings, for the server's command line client.
[[nodiscard]] std::string script(const naming& names);

/// Returns the statements that make the table of fences and its procedure, likewise.
/// \param names of `fences_in`.
[[nodiscard]] std::vector<std::string> fences_of(const naming& names);
/// The comments of that table and of that procedure, as this Holdfast makes them, sorted.
[[nodiscard]] std::vector<std::string> fence_comments();
/// As `fences_of`, for the server's command line client, as `script` does.
[[nodiscard]] std::string fence_script(const naming& names);
/// The numbers of the errors of that procedure, all with the SQLSTATE 45000: an older token; no name, no
/// token.
inline constexpr unsigned fenced_error = 45001;
inline constexpr unsigned no_fence_error = 45002;

/// The settings of a session, to be sent first, one by one.
[[nodiscard]] std::vector<std::string> session_settings();

/// The comment of a table of Holdfast: "Holdfast claims 2". Other tables are not touched.
[[nodiscard]] std::string comment_of(std::string_view part);

/// The start of the comment of a procedure of Holdfast: "Holdfast 2". Other procedures are not called.
inline constexpr std::string_view procedure_comment = "Holdfast ";

/// The parts of the name of each table: "locks", "claims" ...
[[nodiscard]] const std::vector<std::string_view>& table_parts();

/// The parts of the name of each procedure: "acquire", "find" ...
[[nodiscard]] const std::vector<std::string_view>& procedure_parts();

/// The quoted name of the procedure that a statement of `schema_of` makes.
[[nodiscard]] std::string procedure_in(const std::string& statement);

/// The text of a call with a question mark for each parameter, to be prepared.
[[nodiscard]] std::string text_of(const sql::call& call, const naming& names);

/// The complete text of a call, with the settings that it needs for itself, for a session that has none.
/// Texts and bytes are in hexadecimal digits. MariaDB only.
[[nodiscard]] std::string text_with_values(const sql::call& call, const naming& names);

/// A list for a procedure, as one value: see acquire_all.sql.
[[nodiscard]] std::string packed(const std::vector<parameter>& items);

/// The question as a call of `listen` that does not wait.
[[nodiscard]] sql::call poll_of(const poll_question& question);

/// The lock that a client's session holds at the server while it lives, by which others find the session: the
/// session for calls, or the one that sleeps in `listen`. See ring.sql.
[[nodiscard]] std::string lock_of(const owner_id& client, bool listens);

/// Whether a server with this value of `@@global.read_only` accepts writes. Up to MariaDB 12.0 and
/// in MySQL it is a number; from then on a name: OFF, ON, NO_LOCK, NO_LOCK_NO_ADMIN.
[[nodiscard]] bool is_writable(std::string_view read_only);

/// A notification that has been received, as the procedure `listen` takes it.
[[nodiscard]] std::string seen_notification(const owner_id& owner, std::int64_t token);

}  // namespace holdfast::sql::mariadb
