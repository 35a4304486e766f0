// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "runtime/io_deadline.hpp"
#include "stores/postgresql/link/connection.hpp"

namespace holdfast::postgresql {

namespace {

/// The classification of a SQLSTATE, or of a class of them; see appendix A of PostgreSQL's manual.
struct verdict {
  std::string_view state;
  errc code;
  std::string_view advice;
  bool retryable;
  bool over = false;  // the connection is over
};

constexpr auto verdicts = std::to_array<verdict>({
    {"40", errc::unavailable, "other sessions changed the same rows at the same moment",
     true},  // deadlock, serialization
    {"23505", errc::unavailable, "other sessions were making the same tables at the same moment", true},
    {"25001", errc::unavailable,
     "the session's transactions are not READ COMMITTED, and with notify=poll or pooler=session no client "
     "changes that: ALTER "
     "ROLE ... SET default_transaction_isolation = 'read committed'",
     true},
    {"26000", errc::unavailable, "the prepared statement is gone", true},
    {"55P03", errc::unavailable, "another session holds a lock on the row or the table", true},
    {"57014", errc::unavailable, "the statement was cancelled; look for a statement_timeout", true},
    {"42501", errc::permission_denied, "the owner of the tables has to grant it; see holdfast schema", false},
    {"28P01", errc::permission_denied, "check the user and the password", false},
    {"28", errc::permission_denied, "check the user, and the server's pg_hba.conf", false},
    {"25006", errc::unavailable,
     "the server is a read-only standby, or was set read-only; connect to the primary", true, true},
    {"42P01", errc::unavailable, "the lock table is gone", true, true},
    {"42883", errc::unavailable, "a routine of the lock table is gone", true, true},
    {"42704", errc::foreign_store, "create the role, or name another", false},  // a role
    {"3F000", errc::foreign_store, "create the schema, or name another with table=", false},
    {"3D000", errc::unavailable, "create the database, or name another", false},
    {"42P13", errc::foreign_store,
     "a routine of this name is not Holdfast's; name another table with table=", false},
    {"42", errc::foreign_store,
     "the table of this name has other columns; name another table with table=", false},
    {"HF001", errc::foreign_store, "see holdfast schema", false},  // a stranger's table, say
    {"53300", errc::exhausted, "raise max_connections, or use fewer clients", true},
    {"53", errc::exhausted, "free disk space or memory at the server", true},
    {"57P03", errc::unavailable, "the server is starting or shutting down", true, true},
    {"57", errc::unavailable, "the server ended the session", true, true},
    {"08", errc::unavailable, "the connection failed", true, true},
    {"XX000", errc::unavailable, "the server could not do that now", true},  // "tuple concurrently updated"
    {"XX", errc::corrupt_store, "the server's data is damaged", false},
    {"", errc::unavailable, "the server refused a statement", false},
});

/// What a pooler answers that gives each statement another session: it refuses a transaction.
constexpr verdict no_transactions{"08P01", errc::unavailable,
                                  "a pooler of statements does not work; connect directly", false};

/// Joins the lines; leaves out those with places in the server's source, which a verbose libpq adds.
std::string one_line(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view number = line.substr(line.find_last_not_of("0123456789") + 1);
    line.remove_suffix(number.size());
    if (line.ends_with(".c:") && !number.empty()) continue;
    line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    if (!all.empty()) all += "; ";
    all.append(line).append(number);
  }
  std::replace(all.begin(), all.end(), '\t', ' ');
  return all;
}

const verdict& verdict_of(std::string_view state) {
  return *std::find_if(verdicts.begin(), verdicts.end(),
                       [&](const verdict& v) { return state.starts_with(v.state); });
}

/// Finds the SQLSTATE after the severity, which is in the language of the server: "FATAL:  28P01: password
/// …".
std::string state_in(std::string_view said) {
  constexpr std::size_t length = 5;
  constexpr std::string_view before = ":  ";
  const auto of_a_state = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t at = said.find(before); at != std::string_view::npos; at = said.find(before, at + 1)) {
    const std::string_view state = said.substr(at + before.size(), length);
    const bool is_one = std::all_of(state.begin(), state.end(), of_a_state);
    if (is_one && said.substr(at + before.size() + state.size()).starts_with(": ")) return std::string{state};
  }
  return {};
}

}  // namespace

failure failure_of(PGconn* connection) { return {errc::unavailable, one_line(PQerrorMessage(connection))}; }

void make_talkative(PGconn* connection) {
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
}

/// For a failed connection, libpq has the SQLSTATE in its message only: "FATAL:  28P01: …".
runtime::connection_error refused_entry(PGconn* connection) {
  failure said = failure_of(connection);
  const auto says = [&](std::string_view text) { return said.message.find(text) != std::string::npos; };
  if (const std::string state = state_in(said.message); !state.empty()) {
    const verdict& v = verdict_of(state);
    said.message.append("; ").append(v.advice);
    return {{v.code, said.message}, v.retryable};
  }
  if (says("does not support SSL")) return {said, false};
  if (PQconnectionNeedsPassword(connection) != 0 || says("certificate")) {
    return {{errc::permission_denied, said.message}, false};
  }
  return {said};
}

namespace {

template <std::size_t Count>
bool is_one_of(const PGresult* refused, const std::array<std::string_view, Count>& states) {
  const char* const state = PQresultErrorField(refused, PG_DIAG_SQLSTATE);
  return state != nullptr && std::find(states.begin(), states.end(), state) != states.end();
}

}  // namespace

bool is_missing(const PGresult* refused) {
  return is_one_of(refused, std::to_array<std::string_view>({"42883", "42P01", "3F000"}));
}

/// The isolation, read-only transactions, a statement_timeout, SET ROLE.
bool may_be_left(const PGresult* refused) {
  return is_one_of(refused, std::to_array<std::string_view>({"25001", "25006", "57014", "42501"}));
}

refusal refusal_of(const PGresult* refused) {
  const auto field = [&](int which) {
    const char* const text = PQresultErrorField(refused, which);
    return std::string{text != nullptr ? text : ""};
  };
  const std::string severity = field(PG_DIAG_SEVERITY_NONLOCALIZED);
  std::string state = field(PG_DIAG_SQLSTATE);
  if (state.empty()) state = "08";  // an error of libpq: the connection is gone
  std::string message = one_line(field(PG_DIAG_MESSAGE_PRIMARY));
  if (message.empty()) message = one_line(PQresultErrorMessage(refused));
  const bool is_pooler = message.find("statement pooling") != std::string::npos;  // PgBouncer's words
  const verdict& v = is_pooler ? no_transactions : verdict_of(state);
  message.append("; ").append(v.advice).append(" (SQLSTATE ").append(state).append(")");
  return {{{v.code, message}, v.retryable, false}, v.over, severity != "ERROR"};
}

}  // namespace holdfast::postgresql
