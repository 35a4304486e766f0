// How a session checks and makes Holdfast's tables and procedures.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mariadb/link/connection.hpp"
#include "stores/mariadb/link/opening.hpp"

namespace holdfast::mariadb {

using runtime::connection_error;

namespace {

constexpr unsigned no_such_procedure = 1305;
constexpr unsigned no_such_table = 1146;

}  // namespace

/// \return the layout at the server; zero if there is none, or if a table is missing.
std::int64_t opening::layout() {
  const auto refused = try_to_ask("CALL " + names_.quoted("layout") + "()");
  if (!refused) return column_.empty() ? 0 : std::strtoll(column_.front().c_str(), nullptr, 10);
  if (refused->number == no_such_procedure || refused->number == no_such_table) return 0;
  const connection_error refusal = refused_entry(refused->number, refused->sentence);
  throw connection_error{refusal};
}

/// \return whether it has made any.
bool opening::provide_tables(sql::mariadb::existing procedures_there) {
  const bool replaces = procedures_there == sql::mariadb::existing::replaced;
  const found_procedures procedures = look_at_procedures();
  if (!procedures.untrusted.empty() && !replaces) {
    throw connection_error{
        {errc::permission_denied, "the procedure " + procedures.untrusted +
                                      " belongs to another user and would run with this user's rights; run "
                                      "as a trusted user: holdfast schema URL --apply"},
        false};
  }
  const std::int64_t found = procedures.untrusted.empty() ? layout() : 0;
  const bool usable = found == sql::mariadb::layout;
  if (found != 0 && !usable) {
    throw connection_error{
        {errc::foreign_store, "the table " + names_.plain() + " has layout " + std::to_string(found) +
                                  ", and this Holdfast needs layout " + std::to_string(sql::mariadb::layout) +
                                  "; name another table with table="},
        false};
  }
  check_tables();
  if (usable && procedures.complete && (procedures.current || !replaces)) return false;
  if (usable && !to_.create) return false;
  if (!to_.create) {
    throw connection_error{
        {errc::unavailable, "the table " + names_.plain() +
                                " does not exist, and create=0 forbids to create it; see holdfast schema"},
        false};
  }
  if (make_ == sql::provision::none) {
    bare_ = !usable;
    return false;
  }
  try {
    make_tables(procedures_there);
  } catch (const connection_error& c) {
    // A user does not see procedures that it may not call. It needs the others only.
    if (usable && !replaces && c.reason.code == errc::permission_denied) return false;
    throw;
  }
  return true;
}

/// The names of these tables or procedures, quoted for a statement.
std::string opening::listed(const std::vector<std::string_view>& parts) const {
  std::string all;
  for (const std::string_view part : parts) {
    const std::string name = part == "locks" ? to_.table : to_.table + '_' + std::string{part};
    all.append(all.empty() ? "'" : ", '").append(name).append("'");
  }
  return all;
}

/// Runs before any procedure is called, because a procedure of another program may do anything.
/// \throws connection_error where there are others of these names.
opening::found_procedures opening::look_at_procedures() {
  const auto& parts = sql::mariadb::procedure_parts();
  const std::string comment{sql::mariadb::procedure_comment};
  ask("SELECT IF(routine_comment LIKE '" + comment +
      "%', IF(security_type = 'DEFINER' OR definer = CURRENT_USER(), IF(routine_comment = '" +
      sql::mariadb::current_comment() +
      "', 'current', ''), CONCAT('? ', routine_name)), CONCAT('! ', routine_name)) "
      "FROM information_schema.routines WHERE routine_schema = '" +
      to_.schema + "' AND routine_type = 'PROCEDURE' AND routine_name IN (" + listed(parts) + ")");
  const auto marked = [this](std::string_view mark) {
    return std::find_if(column_.begin(), column_.end(),
                        [&](const std::string& said) { return said.starts_with(mark); });
  };
  if (const auto foreign = marked("! "); foreign != column_.end()) {
    throw connection_error{{errc::foreign_store, "the procedure " + foreign->substr(2) +
                                                     " is not Holdfast's; name another table with table="},
                           false};
  }
  found_procedures found{column_.size() == parts.size(), true, {}};
  for (const std::string& said : column_) found.current = found.current && said == "current";
  if (const auto strange = marked("? "); strange != column_.end()) found.untrusted = strange->substr(2);
  return found;
}

/// Holdfast's tables have a comment that says so, also if their creation was interrupted. A user that may
/// only call the procedures sees no tables.
/// \throws connection_error where there are others of these names.
void opening::check_tables() {
  std::vector<std::string> comments;
  for (const std::string_view part : sql::mariadb::table_parts()) {
    comments.push_back(sql::mariadb::comment_of(part));
  }
  ask("SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + to_.schema +
      "' AND table_name IN (" + listed(sql::mariadb::table_parts()) + ")");
  const bool ours = std::all_of(column_.begin(), column_.end(), [&](const std::string& comment) {
    return std::find(comments.begin(), comments.end(), comment) != comments.end();
  });
  if (ours) return;
  throw connection_error{{errc::foreign_store, "the table " + names_.plain() +
                                                   ", or a table named after it, is not Holdfast's, or has "
                                                   "another layout; name another table with table="},
                         false};
}

/// Several clients may do this at once: each statement keeps existing objects, or replaces them by the same.
void opening::make_tables(sql::mariadb::existing procedures_there) {
  constexpr unsigned is_there = 1304;
  for (const std::string& statement : sql::mariadb::schema_of(names_, procedures_there)) {
    auto refused = try_to_ask(statement);
    if (refused && refused->number == is_there) {
      if (procedures_there == sql::mariadb::existing::kept) continue;
      ask("DROP PROCEDURE IF EXISTS " +
          sql::mariadb::procedure_in(statement));  // MySQL cannot replace a procedure
      refused = try_to_ask(statement);
    }
    if (!refused) continue;
    const connection_error refusal = refused_entry(refused->number, refused->sentence);
    if (refusal.reason.code != errc::permission_denied) throw connection_error{refusal};
    throw connection_error{
        {errc::permission_denied,
         "there is no lock table " + names_.plain() +
             " whose procedures this user may call, and the user may not create one; grant the procedures, "
             "or run as a user with the rights: holdfast schema URL --apply (" +
             refusal.reason.message + ")"},
        false};
  }
}

}  // namespace holdfast::mariadb
