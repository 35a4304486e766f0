#include "sim/sql_store.hpp"

#include <functional>
#include <stdexcept>

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

}  // namespace

sql_store::sql_store(mutant with) : change_{mutation_of(with)} {
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_opened));
  sqlite::database::settings s;
  s.path = ":memory:";
  s.names = sql::tables::named("holdfast_locks");
  s.keep_idle = std::chrono::hours{24};
  s.lease_clock = [this] {
    return at_ == nullptr ? store::time_point{} : store::time_point{at_->boot.at(in->now)};
  };
  s.wall_clock = [this] {
    return std::chrono::system_clock::time_point{
        std::chrono::microseconds{at_ == nullptr ? 0 : at_->wall_now()}};
  };
  s.revise = std::ref(change_);
  tables_ = std::make_unique<sqlite::database>(s);
  change_.require_done();
  db_ = opened;
  for (const char* const own : {"CREATE TABLE others (what TEXT)", "INSERT INTO others VALUES ('stock')",
                                "CREATE TABLE former_locks AS SELECT * FROM holdfast_locks",
                                "CREATE TABLE former_claims AS SELECT * FROM holdfast_locks_claims"}) {
    execute(prepare(own));
  }
  every_claim_ = prepare(
      "SELECT c.name, c.owner, c.token, c.weight, c.expires, c.token <= l.granted"
      "  FROM holdfast_locks_claims c JOIN holdfast_locks l ON l.name = c.name ORDER BY c.name, c.token");
  forget_ = prepare("DELETE FROM holdfast_locks; DELETE FROM holdfast_locks_claims");
  remember_ = prepare(
      "DELETE FROM former_locks; INSERT INTO former_locks SELECT * FROM holdfast_locks;"
      "DELETE FROM former_claims; INSERT INTO former_claims SELECT * FROM holdfast_locks_claims");
  fall_back_ = prepare(
      "INSERT INTO holdfast_locks SELECT * FROM former_locks;"
      "INSERT INTO holdfast_locks_claims SELECT * FROM former_claims");
  is_whole_ = prepare(
      "SELECT (SELECT count(*) FROM others WHERE what = 'stock') = 1 AND (SELECT count(*) FROM others) = 1"
      "   AND (SELECT count(*) FROM sqlite_master WHERE type = 'table') = 6");
}

sql_store::~sql_store() = default;  // the database finalizes all statements of its connection

void sql_store::begin(scene& in, site& at, ledger& account) {
  this->in = &in;
  this->account = &account;
  at_ = &at;
  careless = true;
  links.clear();
  forget();
}

std::unique_ptr<tickets::link> sql_store::connect(host& from, line& over, duration patience) {
  return std::make_unique<request_link>(static_cast<counter&>(*this), from, over, patience);
}

tickets::reply sql_store::carry_out(const tickets::request& asked, const owner_id& client,
                                    std::vector<word>& into) {
  using access = sqlite::database::access;
  const bool reads = asked.what == tickets::task::inspect || asked.what == tickets::task::list;
  told_.clear();
  if (!tables_->begin(reads ? access::read : access::write))
    throw std::runtime_error{"the tables are in use"};
  tickets::reply answer = tables_->carry_out(asked, client, told_);
  if (!reads) tables_->sweep_if_due();
  tables_->commit();
  for (const sqlite::told& t : told_) {
    const bool grant = t.token > 0;
    into.push_back({t.client,
                    t.owner,
                    {grant ? store::notice::granted : store::notice::revoked,
                     fencing_token{static_cast<std::uint64_t>(grant ? t.token : -t.token)}}});
  }
  return answer;
}

std::vector<standing> sql_store::claims() {
  sqlite3_stmt* const row = every_claim_.front();
  std::vector<standing> all;
  while (sqlite3_step(row) == SQLITE_ROW) {
    standing s;
    s.name = index_of(reinterpret_cast<const char*>(sqlite3_column_text(row, 0)));
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

void sql_store::remember() { execute(remember_); }

void sql_store::fall_back() {
  forget();
  execute(fall_back_);
}

void sql_store::forget() { execute(forget_); }

std::string sql_store::damage() {
  const bool whole =
      sqlite3_step(is_whole_.front()) == SQLITE_ROW && sqlite3_column_int(is_whole_.front(), 0) == 1;
  sqlite3_reset(is_whole_.front());
  return whole ? "" : "another's table was touched";
}

sql_store::recipe sql_store::prepare(const char* statements) {
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

void sql_store::execute(const recipe& all) {
  for (sqlite3_stmt* const s : all) {
    if (sqlite3_step(s) != SQLITE_DONE) throw std::runtime_error{sqlite3_errmsg(db_)};
    sqlite3_reset(s);
  }
}

}  // namespace holdfast::sim
