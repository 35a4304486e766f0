// SPDX-License-Identifier: Apache-2.0
#include "simulation/sql_tables.hpp"

#include <functional>
#include <stdexcept>
#include <utility>

namespace holdfast::sim {

namespace {

thread_local sqlite3* opened = nullptr;

/// SQLite calls it for each connection that is opened: so the handle of one that others keep to themselves is
/// known, for looking and for losing data.
int note_opened(sqlite3* db, char** /*problem*/, const sqlite3_api_routines* /*api*/) {
  opened = db;
  return SQLITE_OK;
}

owner_id id_at(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  return owner_id::from_bytes({bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, column))})
      .value_or(owner_id{});
}

std::size_t name_at(sqlite3_stmt* row, int column) {
  return index_of(reinterpret_cast<const char*>(sqlite3_column_text(row, column)));
}

}  // namespace

sql_tables::sql_tables(mutant with, clocks by, duration keep_idle, duration sweep_every)
    : clocks_{std::move(by)}, change_{mutation_of(with)} {
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_opened));
  sqlite::database::settings s;
  s.path = ":memory:";
  s.names = sql::naming{"", "holdfast_locks", '"'};
  s.keep_idle = keep_idle;
  s.sweep_every = sweep_every;
  s.lease_clock = clocks_.lease;
  s.wall_clock = clocks_.wall;
  s.revise = std::ref(change_);
  database_ = std::make_unique<sqlite::database>(s);
  change_.require_done();
  db_ = opened;
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);  // for those of the simulator
  make_what_is_not_ours();
  execute(prepare(addition_of(with)));
  every_claim_ = prepare(
      "SELECT c.name, c.owner, c.token, c.weight, c.expires, c.token <= l.granted"
      "  FROM holdfast_locks_claims c JOIN holdfast_locks l ON l.name = c.name ORDER BY c.name, c.token");
  forget_ = prepare(
      "DELETE FROM holdfast_locks; DELETE FROM holdfast_locks_claims;"
      "UPDATE holdfast_locks_sweeps SET swept = 0");
  remember_ = prepare(
      "DELETE FROM former_locks; INSERT INTO former_locks SELECT * FROM holdfast_locks;"
      "DELETE FROM former_claims; INSERT INTO former_claims SELECT * FROM holdfast_locks_claims;"
      "UPDATE former_sweeps SET swept = (SELECT swept FROM holdfast_locks_sweeps)");
  fall_back_ = prepare(
      "INSERT INTO holdfast_locks SELECT * FROM former_locks;"
      "INSERT INTO holdfast_locks_claims SELECT * FROM former_claims;"
      "UPDATE holdfast_locks_sweeps SET swept = (SELECT swept FROM former_sweeps)");
  is_whole_ = prepare(
      "SELECT (SELECT count(*) FROM others WHERE what = 'stock') = 1 AND (SELECT count(*) FROM others) = 1"
      "   AND (SELECT count(*) FROM sqlite_master WHERE type = 'table') = 7");
}

sql_tables::~sql_tables() = default;  // the database finalizes all statements of its connection

void sql_tables::make_what_is_not_ours() {
  sqlite3_create_function(db_, "note_forgotten", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS, this, note_forgotten,
                          nullptr, nullptr);
  constexpr const char* trigger =
      "CREATE TRIGGER note AFTER DELETE ON holdfast_locks BEGIN SELECT note_forgotten(OLD.name); END";
  for (const char* const own :
       {"CREATE TABLE others (what TEXT)", "INSERT INTO others VALUES ('stock')",
        "CREATE TABLE former_locks AS SELECT * FROM holdfast_locks",
        "CREATE TABLE former_claims AS SELECT * FROM holdfast_locks_claims",
        "CREATE TABLE former_sweeps AS SELECT * FROM holdfast_locks_sweeps", trigger}) {
    execute(prepare(own));
  }
}

sql_tables::result& sql_tables::carry_out(const tickets::request& request, const owner_id& client) {
  run(request, client);
  database_->commit();
  return last_;
}

void sql_tables::carry_out_in_vain(const tickets::request& request, const owner_id& client) {
  run(request, client);
  database_->roll_back();
}

/// A transaction, up to its end.
void sql_tables::run(const tickets::request& request, const owner_id& client) {
  using access = sqlite::database::access;
  const bool reads = tickets::is_read_only(request);
  last_.notifications.clear();
  last_.forgotten.clear();
  if (!database_->begin(reads ? access::read : access::write))
    throw std::runtime_error{"the tables are in use"};
  try {
    last_.answer = database_->carry_out(request, client, last_.notifications);
    sweeps_now_ = true;
    if (!reads) database_->sweep_if_due();
    sweeps_now_ = false;
  } catch (const sqlite::broken&) {
    database_->roll_back();
    throw;
  }
}

/// SQLite calls it for each name whose row is deleted.
void sql_tables::note_forgotten(sqlite3_context* of, int /*count*/, sqlite3_value** name) {
  auto* const self = static_cast<sql_tables*>(sqlite3_user_data(of));
  if (!self->sweeps_now_) return;
  self->last_.forgotten.push_back(index_of(reinterpret_cast<const char*>(sqlite3_value_text(*name))));
}

std::vector<standing> sql_tables::claims() {
  sqlite3_stmt* const row = every_claim_.front();
  std::vector<standing> all;
  while (sqlite3_step(row) == SQLITE_ROW) {
    standing s;
    s.name = name_at(row, 0);
    s.owner = id_at(row, 1);
    s.token = static_cast<std::uint64_t>(sqlite3_column_int64(row, 2));
    s.weight = sqlite3_column_int64(row, 3);
    s.expires = sqlite3_column_int64(row, 4);
    s.granted = sqlite3_column_int(row, 5) != 0;
    all.push_back(s);
  }
  sqlite3_reset(row);
  return all;
}

void sql_tables::fall_back() {
  forget();
  execute(fall_back_);
}

bool sql_tables::is_whole() {
  sqlite3_stmt* const row = is_whole_.front();
  const bool whole = sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) == 1;
  sqlite3_reset(row);
  return whole;
}

sql_tables::recipe sql_tables::prepare(const char* statements) {
  recipe all;
  while (*statements != '\0') {
    sqlite3_stmt* next = nullptr;
    if (sqlite3_prepare_v3(db_, statements, -1, SQLITE_PREPARE_PERSISTENT, &next, &statements) != SQLITE_OK) {
      throw std::runtime_error{sqlite3_errmsg(db_)};
    }
    all.push_back(next);
  }
  return all;
}

void sql_tables::execute(const recipe& all) {
  for (sqlite3_stmt* const s : all) {
    if (sqlite3_step(s) != SQLITE_DONE) throw std::runtime_error{sqlite3_errmsg(db_)};
    sqlite3_reset(s);
  }
}

}  // namespace holdfast::sim
