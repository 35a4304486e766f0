#include "stores/postgresql/link/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <poll.h>
#include <string>
#include <string_view>

#include "runtime/measurement.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/postgresql/link/conditions.hpp"
#include "stores/postgresql/link/opening.hpp"
#include "stores/postgresql/protocol/schema.hpp"
#include "stores/postgresql/protocol/texts.hpp"
#include "stores/sql/link/conditions.hpp"
#include "stores/sql/protocol/number.hpp"

namespace holdfast::postgresql {

namespace {

using doctor::facts;
namespace pg = sql::postgresql;

std::string text_at(const result& r, int row, int column) { return PQgetvalue(r.get(), row, column); }

/// The routines that from the first to the last may execute, a line each: "own_evict(text, bigint, bigint)".
std::string routines_of(const sql::naming& names, pg::access first, pg::access last) {
  std::string all;
  for (const pg::routine& each : pg::routines)
    if (each.may_execute >= first && each.may_execute <= last)
      all.append(names.bare(each.name)).append("(").append(each.parameters).append(")\n");
  return all;
}

/// The statement of excess.sql, with the role that the URL names as $1.
std::string excess(const sql::naming& names) {
  constexpr std::string_view owner = "{OWNER}";
  std::string all = pg::owners(names);
  return all.replace(all.find(owner), owner.size(), "$1").append("\n").append(pg::text::excess);
}

}  // namespace

/// One transaction, which writes nothing, and is rolled back: behind a pooler no setting stays in the
/// session.
std::vector<finding> opening::examine() {
  connect();
  check_version();
  sql::examination found{facts{to_.link.place}, {}};
  facts& said = found.said;
  said.set("product", "PostgreSQL");
  // Before the server has a say.
  said.set("grant", "holdfast schema 'URL&grant_lock=ROLE' --apply, with the URL of the tables' owner");
  said.set("careless_remedy",
           "ALTER ROLE, ALTER ROLE ... IN DATABASE, ALTER DATABASE or ALTER SYSTEM ... SET "
           "synchronous_commit = on");
  said.set_flag("password_unused", (to_.password.is_given() || to_.connection.contains("password")) &&
                                       PQconnectionUsedPassword(session_.get()) == 0);
  said.set_flag("session", to_.link.session.has_value());
  const auto check = [&](const std::function<void()>& step) {
    try {
      step();
    } catch (const runtime::connection_error& c) {
      said.set("server_refusal", c.reason.message);
    }
  };
  ask("BEGIN ISOLATION LEVEL READ COMMITTED");
  check([&] { check_server(); });
  if (said.has("server_refusal")) settle_names(text("SELECT pg_catalog.current_schemas(false)"));
  ask("SET TRANSACTION READ ONLY");
  // What is locked is refused in time to look at the rest.
  const auto patience = std::max(to_.link.connect_limit / 8, std::chrono::milliseconds{1});
  ask("SET LOCAL lock_timeout = " + std::to_string(patience.count()));
  const auto examine_part = [&](const char* part, const std::function<void()>& read) {
    if (const std::string problem = read_part(read); !problem.empty()) found.add_unread(part, problem);
  };
  examine_part("settings", [&] {
    const result r = ask(
        std::string{pg::text::conditions},
        {names_.schema(), names_.bare("acquire"), routines_of(names_, pg::access::look, pg::access::all)});
    for (int row = 0; row < PQntuples(r.get()); ++row) said.set(text_at(r, row, 0), text_at(r, row, 1));
    said.set("schema", names_.schema());
  });
  examine_part("clock", [&] {
    doctor::set_clock(said, runtime::clock_ahead([this] {
                        return std::chrono::microseconds{sql::number_in(
                            text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"))};
                      }));
  });
  // Looking into a schema takes USAGE.
  if (said.text("uses_schema") == "true") examine_part("store", [&] { read_store(said); });
  examine_part("rights of others", [&] {
    const result r = ask(excess(names_), {to_.owner, names_.schema(),
                                          routines_of(names_, pg::access::lock, pg::access::lock)});
    said.set("excess", PQntuples(r.get()));
    for (int row = 0; row < PQntuples(r.get()); ++row) {
      facts one{said.subject};
      int column = 0;
      for (const char* name : {"grantee", "kind", "rights", "objects", "full", "grantee_name", "writes"})
        one.set(name, text_at(r, row, column++));
      doctor::examine(conditions::excess_conditions, one, found.more);
    }
  });
  examine_part("session", [&] {
    ask("ROLLBACK");
    check([&] { check_session(); });
    said.set_flag("is_usable", !said.has("server_refusal"));
  });
  return found.conclude(conditions::server_conditions);
}

/// What is refused leaves the other parts as they are. An answer that does not come ends the examination,
/// because the session is of no use then.
/// \return why the part could not be read; empty: it was.
std::string opening::read_part(const std::function<void()>& read) {
  if (PQtransactionStatus(session_.get()) != PQTRANS_INTRANS) return "the session is over";
  try {
    ask("SAVEPOINT part");
    read();
    return {};
  } catch (const runtime::connection_error& c) {
    try {
      finish_answer();
      if (PQtransactionStatus(session_.get()) == PQTRANS_INERROR) ask("ROLLBACK TO SAVEPOINT part");
    } catch (const runtime::connection_error&) {
      session_.reset();
    }
    return c.reason.message;
  }
}

/// Of a statement that was refused.
void opening::finish_answer() {
  PGconn* const to = session_.get();
  while (true) {
    while (PQisBusy(to) != 0) {
      limit_.wait(PQsocket(to), POLLIN);
      if (PQconsumeInput(to) != 1) throw runtime::connection_error{failure_of(to)};
    }
    if (!result{PQgetResult(to)}) return;
  }
}

/// Makes nothing.
void opening::read_store(facts& to) {
  to.set("table", names_.plain());
  try {
    const auto there = find_shortage();
    if (!there) return to.set_flag("outdated", false);
    to.set("shortage", shortage(*there));
    to.set_flag("is_there", there->tables > 0);
  } catch (const runtime::connection_error& c) {
    if (PQtransactionStatus(session_.get()) != PQTRANS_INTRANS) throw;  // the server has refused a statement
    to.set("schema_refusal", c.reason.message);
  }
}

std::vector<finding> diagnose(const settings& of) {
  const runtime::wakeup_fd never;
  const owner_id nobody = owner_id::random();
  return opening{of, nobody, never.descriptor()}.examine();
}

}  // namespace holdfast::postgresql
