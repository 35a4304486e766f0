#include "stores/postgresql/link/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <poll.h>
#include <string>
#include <string_view>

#include "runtime/measurement.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/postgresql/link/opening.hpp"
#include "stores/postgresql/protocol/server_facts.hpp"

namespace holdfast::postgresql {

namespace {

using sql::postgresql::server_facts;

std::string text_at(const result& r, int row, int column) { return PQgetvalue(r.get(), row, column); }

}  // namespace

/// One transaction, which writes nothing, and is rolled back: behind a pooler no setting stays in the
/// session.
server_facts opening::examine() {
  connect();
  server_facts facts;
  facts.place = to_.link.place;
  facts.password_unused = (to_.password.is_given() || to_.connection.contains("password")) &&
                          PQconnectionUsedPassword(session_.get()) == 0;
  const std::string backend = text("SELECT pg_catalog.pg_backend_pid()");
  ask("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY");
  check_version();
  settle_names(text("SELECT pg_catalog.current_schemas(false)"));
  // What is locked is refused in time to look at the rest.
  const auto patience = std::max(to_.link.connect_limit / 8, std::chrono::milliseconds{1});
  ask("SET LOCAL lock_timeout = " + std::to_string(patience.count()));
  examine_part(facts, "settings", [&] { read_conditions(facts); });
  examine_part(facts, "clock", [&] { read_clock(facts); });
  examine_part(facts, "store", [&] { read_store(facts); });
  examine_part(facts, "rights of others", [&] { read_excess(facts); });
  examine_part(facts, "transactions", [&] { read_transactions(facts); });
  examine_part(facts, "session", [&] {
    ask("ROLLBACK");
    const bool direct = backend == std::to_string(PQbackendPID(session_.get()));
    const bool same = text("SELECT pg_catalog.pg_backend_pid()") == backend;
    facts.way = !same    ? server_facts::line::switched
                : direct ? server_facts::line::direct
                         : server_facts::line::pooled;
  });
  return facts;
}

/// What is refused leaves the other parts as they are. An answer that does not come ends the examination,
/// because the session is of no use then.
void opening::examine_part(server_facts& to, const char* part, const std::function<void()>& read) {
  if (PQtransactionStatus(session_.get()) != PQTRANS_INTRANS) {
    to.unread.emplace(part, to.unread.empty() ? "the session is over" : to.unread.begin()->second);
    return;
  }
  try {
    ask("SAVEPOINT part");
    read();
  } catch (const runtime::connection_error& c) {
    to.unread.emplace(part, c.reason.message);
    try {
      finish_answer();
      if (PQtransactionStatus(session_.get()) == PQTRANS_INERROR) ask("ROLLBACK TO SAVEPOINT part");
    } catch (const runtime::connection_error&) {
      session_.reset();
    }
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

void opening::read_clock(server_facts& to) {
  to.clock_ahead = runtime::clock_ahead([this] {
    return std::chrono::microseconds{
        sql::number_in(text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"))};
  });
  to.round_trip = runtime::round_trip([this] { static_cast<void>(text("SELECT 1")); });
}

void opening::read_conditions(server_facts& to) {
  const result r = ask(std::string{sql::postgresql::conditions()},
                       {names_.schema(), names_.bare("locks"), names_.bare("acquire")});
  for (int row = 0; row < PQntuples(r.get()); ++row) to.said.emplace(text_at(r, row, 0), text_at(r, row, 1));
}

void opening::read_store(server_facts& to) {
  const inventory there = take_inventory();
  to.stranger = there.stranger;
  to.tables_there = there.tables;
  const result routines =
      ask(std::string{sql::postgresql::callable()}, {names_.schema(), names_.bare("locks")});
  for (int row = 0; row < PQntuples(routines.get()); ++row)
    to.routines_there.emplace(text_at(routines, row, 0), text_at(routines, row, 1) == "t");
  // A routine of an untrusted role is never called, and looking into a schema takes USAGE.
  if (to.is("uses_schema")) to.foreign_table = foreign_table().value_or("");
  for (const char* each : {"layout", "revision"}) {
    const auto found = to.routines_there.find(names_.bare(each) + "()");
    to.may_ask_version = to.may_ask_version && (found == to.routines_there.end() || found->second);
  }
  if (to.is("uses_schema") && to.stranger.empty() && to.may_ask_version) {
    to.layout = layout(there);
    to.routines = revision(there);
  }
}

void opening::read_excess(server_facts& to) {
  const result excess = ask(sql::postgresql::excess(names_),
                            {to_.owner, names_.schema(), sql::postgresql::granted_routines(names_)});
  for (int row = 0; row < PQntuples(excess.get()); ++row) {
    to.excess.push_back(
        {text_at(excess, row, 0), text_at(excess, row, 1), text_at(excess, row, 2), text_at(excess, row, 3)});
  }
}

void opening::read_transactions(server_facts& to) {
  const result r = ask(std::string{sql::postgresql::transactions()});
  for (int row = 0; row < PQntuples(r.get()); ++row) {
    auto& found =
        to.transactions.emplace_back(server_facts::transaction{text_at(r, row, 0), text_at(r, row, 1)});
    if (PQgetisnull(r.get(), row, 2) == 0)
      found.age = std::chrono::seconds{sql::number_in(text_at(r, row, 2))};
  }
}

std::vector<finding> diagnose(const settings& of) {
  const runtime::wakeup_fd never;
  const owner_id nobody = owner_id::random();
  opening session{of, nobody, never.descriptor()};
  const server_facts facts = session.examine();
  sql::postgresql::expectation expected{session.names(), of.pooled, of.create, of.link.session.has_value()};
  const auto given = [&](const char* name) {
    const auto found = of.connection.find(name);
    return found == of.connection.end() ? std::string{} : found->second;
  };
  if (const std::string host = given("host"); host.starts_with('/')) {
    expected.socket_folder = host;
    expected.server = given("port");
  } else {
    expected.server = of.link.place.substr(0, of.link.place.rfind('/'));
  }
  return sql::postgresql::findings_of(facts, expected);
}

}  // namespace holdfast::postgresql
