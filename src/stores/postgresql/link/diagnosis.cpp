#include "stores/postgresql/link/diagnosis.hpp"

#include <chrono>
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
  const std::string backend = text("SELECT pg_catalog.pg_backend_pid()");
  ask("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY");
  check_version();
  settle_names(text("SELECT pg_catalog.current_schemas(false)"));
  read_conditions(facts);
  facts.clock_ahead = runtime::clock_ahead([this] {
    return std::chrono::microseconds{
        sql::number_in(text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"))};
  });
  facts.round_trip = runtime::round_trip([this] { static_cast<void>(text("SELECT 1")); });
  read_store(facts);
  read_transactions(facts);
  ask("ROLLBACK");
  const bool direct = backend == std::to_string(PQbackendPID(session_.get()));
  const bool same = text("SELECT pg_catalog.pg_backend_pid()") == backend;
  facts.way = !same    ? server_facts::line::switched
              : direct ? server_facts::line::direct
                       : server_facts::line::pooled;
  return facts;
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
  if (to.is("uses_schema") && to.stranger.empty()) {
    to.layout = layout(there);
    to.routines = revision(there);
  }
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
  return sql::postgresql::findings_of(facts, {session.names(), of.pooled, of.create});
}

}  // namespace holdfast::postgresql
