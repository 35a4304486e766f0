#include "stores/postgresql/link/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <poll.h>
#include <string>
#include <string_view>

#include "runtime/measurement.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/postgresql/link/opening.hpp"
#include "stores/postgresql/protocol/schema.hpp"
#include "stores/postgresql/protocol/texts.hpp"
#include "stores/sql/protocol/number.hpp"

namespace holdfast::postgresql {

namespace {

using doctor::facts;
namespace pg = sql::postgresql;

std::string text_at(const result& r, int row, int column) { return PQgetvalue(r.get(), row, column); }

/// "own_evict(text, bigint, bigint)"
std::string signature_of(const pg::routine& each, const sql::naming& names) {
  return names.bare(each.name).append("(").append(each.parameters) + ')';
}

/// The routines that only roles may execute that lock, a line each.
std::string granted_routines(const sql::naming& names) {
  std::string all;
  for (const pg::routine& each : pg::routines)
    if (each.may_execute == pg::access::lock) all.append(signature_of(each, names)) += '\n';
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
  facts said{to_.link.place};
  std::vector<finding> of_excess;
  std::vector<finding> unread;
  said.set_flag("password_unused", (to_.password.is_given() || to_.connection.contains("password")) &&
                                       PQconnectionUsedPassword(session_.get()) == 0);
  said.set_flag("pooled", to_.pooled);
  said.set_flag("session", to_.link.session.has_value());
  said.set_flag("create", to_.create);
  const std::string backend = text("SELECT pg_catalog.pg_backend_pid()");
  ask("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY");
  check_version();
  settle_names(text("SELECT pg_catalog.current_schemas(false)"));
  // What is locked is refused in time to look at the rest.
  const auto patience = std::max(to_.link.connect_limit / 8, std::chrono::milliseconds{1});
  ask("SET LOCAL lock_timeout = " + std::to_string(patience.count()));
  const auto examine_part = [&](const char* part, const std::function<void()>& read) {
    if (const std::string problem = read_part(read); !problem.empty())
      doctor::examine_unread(said.subject, part, problem, unread);
  };
  examine_part("settings", [&] {
    const result r = ask(std::string{pg::text::conditions}, {names_.schema(), names_.bare("acquire")});
    for (int row = 0; row < PQntuples(r.get()); ++row) said.set(text_at(r, row, 0), text_at(r, row, 1));
  });
  examine_part("clock", [&] {
    doctor::set_clock(said, runtime::clock_ahead([this] {
                        return std::chrono::microseconds{sql::number_in(
                            text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"))};
                      }));
  });
  examine_part("store", [&] { read_store(said); });
  examine_part("rights of others", [&] {
    const result r = ask(excess(names_), {to_.owner, names_.schema(), granted_routines(names_)});
    said.set("excess", PQntuples(r.get()));
    for (int row = 0; row < PQntuples(r.get()); ++row) {
      facts one{said.subject};
      int column = 0;
      for (const char* name : {"grantee", "kind", "rights", "objects", "full", "grantee_name", "writes"})
        one.set(name, text_at(r, row, column++));
      doctor::examine(excess_conditions(), one, of_excess);
    }
  });
  examine_part("session", [&] {
    ask("ROLLBACK");
    const bool is_direct = backend == std::to_string(PQbackendPID(session_.get()));
    const bool is_same = text("SELECT pg_catalog.pg_backend_pid()") == backend;
    said.set("line", !is_same ? "switched" : is_direct ? "direct" : "pooled");
  });
  std::vector<finding> all;
  doctor::examine(conditions(), said, all);
  if (said.has("clock_distance")) doctor::examine(doctor::clock_conditions(), said, all);
  for (const auto* each : {&of_excess, &unread}) all.insert(all.end(), each->begin(), each->end());
  return all;
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

/// Tables and routines, their owners and versions. Which rights this user has is among the settings.
void opening::read_store(facts& to) {
  const inventory there = take_inventory();
  to.set("stranger", there.stranger);
  to.set_flag("has_owners", true);
  if (!to.has("user")) return;
  const bool uses_schema = to.text("uses_schema") == "true";
  std::map<std::string, bool> callable;  // the routines that are there, and whether this user may call them
  const result r = ask(std::string{pg::text::callable}, {names_.schema(), names_.bare("locks")});
  for (int row = 0; row < PQntuples(r.get()); ++row)
    callable.emplace(text_at(r, row, 0), text_at(r, row, 1) == "t");
  // A routine of an untrusted role is never called, and looking into a schema takes USAGE.
  if (uses_schema) to.set("foreign_table", foreign_table().value_or(""));
  bool may_ask = true;
  for (const char* each : {"layout", "revision"}) {
    const auto found = callable.find(names_.bare(each) + "()");
    may_ask = may_ask && (found == callable.end() || found->second);
  }
  std::int64_t layout_there = 0;
  pg::revision revision_there;
  if (uses_schema && there.stranger.empty() && may_ask) {
    layout_there = layout(there);
    revision_there = revision(there);
  }
  std::string missing = there.tables < pg::tables.size() ? "a table" : "";
  std::string lacking;
  bool looks = true;
  for (const pg::routine& each : pg::routines) {
    const std::string signature = signature_of(each, names_);
    const auto found = callable.find(signature);
    if (found == callable.end() && missing.empty()) missing = "the routine " + signature;
    if (each.may_execute == pg::access::part || found == callable.end() || found->second) continue;
    lacking.append(lacking.empty() ? "" : " ").append(names_.bare(each.name));
    looks = looks && each.may_execute == pg::access::lock;
  }
  const std::string table = names_.plain();
  const bool is_there = there.tables > 0 || !callable.empty();
  if (layout_there != 0 && layout_there != pg::layout_number) to.set("other_layout", layout_there);
  if (revision_there.number > pg::own_revision().number)
    to.set("newer", missing.empty() ? "usable" : "unusable");
  const std::string own = std::to_string(pg::own_revision().number);
  if (!is_there) {
    to.set("shortage", "there is no " + table + " yet");
  } else if (!missing.empty()) {
    to.set("shortage", missing + " of " + table + " is missing");
  } else if (layout_there != pg::layout_number || revision_there.number != pg::own_revision().number) {
    to.set("shortage", "the routines of " + table + " have revision " +
                           std::to_string(revision_there.number) + ", and this version has " + own);
  }
  to.set("table", table);
  to.set("schema", names_.schema());
  to.set_flag("is_there", is_there);
  to.set_flag("may_ask", may_ask);
  to.set("lacking", lacking);
  to.set_flag("looks", looks);
  to.set("own_layout", pg::layout_number);
  to.set("own_revision", own);
  for (const char* each : {"layout", "revision"}) {
    to.set(std::string{each} + "_routine", names_.bare(each));
    to.set(std::string{each} + "_name", names_.quoted(each));
  }
}

std::vector<finding> diagnose(const settings& of) {
  const runtime::wakeup_fd never;
  const owner_id nobody = owner_id::random();
  return opening{of, nobody, never.descriptor()}.examine();
}

}  // namespace holdfast::postgresql
