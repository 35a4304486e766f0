// How a session checks and makes Holdfast's tables and routines.

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "holdfast/boot_clock.hpp"
#include "stores/postgresql/link/connection.hpp"
#include "stores/postgresql/link/opening.hpp"

namespace holdfast::postgresql {

using runtime::connection_error;

namespace {

/// Follows `owners`: the number of tables and routines, whether `layout` ($2) and `revision` ($3) exist, and
/// the untrusted objects with their owners.
constexpr const char* inventory_query = R"sql(
SELECT count(*) FILTER (WHERE kind = 'table'), count(*) FILTER (WHERE kind = 'routine'),
       count(*) FILTER (WHERE kind = 'routine' AND name = $2::text),
       count(*) FILTER (WHERE kind = 'routine' AND name = $3::text),
       min('the ' || kind || ' ' || name || ' belongs to ' || pg_get_userbyid(owner))
         FILTER (WHERE owner NOT IN (SELECT oid FROM trusted))
  FROM part
)sql";

}  // namespace

opening::inventory opening::take_inventory() {
  std::string query = sql::postgresql::owners(names_);
  constexpr std::string_view owner = "{OWNER}";
  query.replace(query.find(owner), owner.size(), "$1");
  const result r = ask(query + inventory_query, {to_.owner, names_.bare("layout"), names_.bare("revision")});
  enum column { tables_found, routines_found, layout_found, revision_found, stranger };
  const auto is = [&](column which, std::size_t count) {
    return PQgetvalue(r.get(), 0, which) == std::to_string(count);
  };
  return {std::strtoul(PQgetvalue(r.get(), 0, tables_found), nullptr, 10), is(layout_found, 1),
          is(revision_found, 1),
          is(tables_found, sql::postgresql::tables.size()) &&
              is(routines_found, sql::postgresql::routines.size()),
          PQgetvalue(r.get(), 0, stranger)};
}

/// Runs before any routine is called: a routine of an untrusted role would run with the rights of this user,
/// and so would the triggers and defaults of its tables. The owner of the schema can replace objects in it.
opening::inventory opening::look_around() {
  inventory there = take_inventory();
  if (there.stranger.empty()) return there;
  throw connection_error{{errc::foreign_store, there.stranger.append(sql::postgresql::stranger_advice)},
                         false};
}

/// \return the layout at the server; zero if there is none.
std::int64_t opening::layout(const inventory& there) {
  if (!there.has_layout) return 0;
  const std::string said = text("SELECT " + names_.quoted("layout") + "()");
  std::int64_t number = 0;
  const auto read = std::from_chars(said.data(), said.data() + said.size(), number);
  return read.ec == std::errc{} ? number : 0;  // a routine of somebody else's
}

sql::postgresql::revision opening::revision(const inventory& there) {
  if (!there.has_revision) return {};
  return sql::postgresql::revision::parse(text("SELECT " + names_.quoted("revision") + "()"));
}

/// Finds a table with one of Holdfast's names and other columns.
std::optional<std::string> opening::foreign_table() {
  for (const auto part : sql::postgresql::tables) {
    const std::string columns = text(
        "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) "
        "FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
        {names_.quoted(part)});
    if (!columns.empty() && !sql::postgresql::is_ours(part, columns)) return names_.quoted(part);
  }
  return std::nullopt;
}

/// Newer routines serve older clients; older routines are replaced. Another layout is left alone.
bool opening::suffices(const inventory& there) {
  const std::int64_t found = layout(there);
  if (found != 0 && found != sql::postgresql::layout_number) {
    throw connection_error{
        {errc::foreign_store, "the table " + names_.plain() + " has layout " + std::to_string(found) +
                                  ", and this Holdfast needs layout " +
                                  std::to_string(sql::postgresql::layout_number) +
                                  "; name another table with table="},
        false};
  }
  const auto routines = revision(there);
  const auto& own = sql::postgresql::own_revision();
  const bool newer = routines.number > own.number;
  if (newer && !there.is_complete) {
    throw connection_error{{errc::foreign_store,
                            "the table " + names_.plain() + " was made by a newer Holdfast; update this one"},
                           false};
  }
  if (found == 0 || !there.is_complete) return false;
  return newer || (routines.number == own.number && !to_.renew);
}

std::string opening::shortage(const inventory& there) const {
  if (!there.has_layout) return "the table " + names_.plain() + " does not exist, or a part of it is missing";
  return "the tables and routines of " + names_.plain() +
         " are those of an older version, or a part is missing";
}

/// \return what is there, if that does not suffice, and a client may make the rest.
std::optional<opening::inventory> opening::find_shortage() {
  inventory there = look_around();
  if (suffices(there)) return std::nullopt;
  if (const auto theirs = foreign_table()) {
    throw connection_error{
        {errc::foreign_store, "the table " + *theirs + " is not Holdfast's; name another table with table="},
        false};
  }
  if (!to_.create) {
    throw connection_error{
        {errc::unavailable, shortage(there) + ", and create=0 forbids to create it; see holdfast schema"},
        false};
  }
  return there;
}

/// \return whether it has made any.
bool opening::provide_tables() {
  const auto there = find_shortage();
  if (!there) return false;
  bare_ = make_ == sql::provision::none && !there->has_layout;
  return !bare_ && make_tables(*there);
}

/// One client at a time makes the tables, and the others find them made. Any user may hold this lock, so the
/// wait is limited. Two clients that make the tables at once fail and try again.
void opening::await_makers() {
  const auto enough = boot_clock::now() + to_.link.connect_limit / 2;
  const std::string attempt = "SELECT pg_try_advisory_xact_lock(" + sql::postgresql::making_key(names_) + ")";
  while (text(attempt) != "t" && boot_clock::now() < enough) std::this_thread::sleep_for(asking_interval);
}

/// The definitions of the tables and routines at the server.
std::string opening::definitions() {
  return text(
      "SELECT concat("
      "(SELECT string_agg(concat_ws(' ', p.oid::regprocedure, p.prosecdef, p.proconfig, p.proacl, p.prosrc), "
      "' ' ORDER BY p.oid::regprocedure::text) "
      "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
      "WHERE n.nspname = $1 AND starts_with(p.proname, $2)), "
      "(SELECT string_agg(concat_ws(' ', c.relname, a.attname, a.atttypid::regtype), "
      "' ' ORDER BY c.relname, a.attnum) "
      "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
      "JOIN pg_attribute a ON a.attrelid = c.oid "
      "WHERE n.nspname = $1 AND starts_with(c.relname, $2) AND a.attnum > 0))",
      {names_.schema(), names_.bare("locks")});
}

bool opening::make_tables(const inventory& there) {
  try {
    ask("BEGIN");
    await_makers();
    const bool missing = !suffices(look_around());
    const std::string before = definitions();
    if (missing) {
      ask(sql::postgresql::schema(names_, to_.owner));
    }
    const bool changed = definitions() != before;
    ask("COMMIT");
    return changed;
  } catch (const connection_error& c) {
    if (c.reason.code ==
        errc::foreign_store) {  // for example a routine of another program, or a missing schema
      throw connection_error{
          {c.reason.code, "the table " + names_.plain() + " cannot be created: " + c.reason.message}, false};
    }
    if (c.reason.code != errc::permission_denied) throw;
    throw connection_error{{errc::permission_denied, shortage(there) +
                                                         ", and this user may not create it; run as a user "
                                                         "with the rights: holdfast schema URL --apply (" +
                                                         c.reason.message + ")"},
                           false};
  }
}

}  // namespace holdfast::postgresql
