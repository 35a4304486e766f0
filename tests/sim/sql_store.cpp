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
  execute("CREATE TABLE others (what TEXT); INSERT INTO others VALUES ('stock')");
  execute("CREATE TABLE former_locks AS SELECT * FROM holdfast_locks");
  execute("CREATE TABLE former_claims AS SELECT * FROM holdfast_locks_claims");
  const char* const every =
      "SELECT c.name, c.owner, c.token, c.weight, c.expires, c.token <= l.granted"
      "  FROM holdfast_locks_claims c JOIN holdfast_locks l ON l.name = c.name ORDER BY c.name, c.token";
  if (sqlite3_prepare_v2(db_, every, -1, &every_claim_, nullptr) != SQLITE_OK) {
    throw std::runtime_error{sqlite3_errmsg(db_)};
  }
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
  return std::make_unique<parcel_link>(static_cast<counter&>(*this), from, over, patience);
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
  std::vector<standing> all;
  while (sqlite3_step(every_claim_) == SQLITE_ROW) {
    standing s;
    s.name = index_of(reinterpret_cast<const char*>(sqlite3_column_text(every_claim_, 0)));
    s.owner = id_at(every_claim_, 1);
    s.token = static_cast<std::uint64_t>(sqlite3_column_int64(every_claim_, 2));
    s.weight = sqlite3_column_int64(every_claim_, 3);
    s.expires = sqlite3_column_int64(every_claim_, 4);
    s.granted = sqlite3_column_int(every_claim_, 5) != 0;
    all.push_back(s);
  }
  sqlite3_reset(every_claim_);
  return all;
}

void sql_store::remember() {
  execute(
      "DELETE FROM former_locks; INSERT INTO former_locks SELECT * FROM holdfast_locks;"
      "DELETE FROM former_claims; INSERT INTO former_claims SELECT * FROM holdfast_locks_claims");
}

void sql_store::fall_back() {
  forget();
  execute(
      "INSERT INTO holdfast_locks SELECT * FROM former_locks;"
      "INSERT INTO holdfast_locks_claims SELECT * FROM former_claims");
}

void sql_store::forget() { execute("DELETE FROM holdfast_locks; DELETE FROM holdfast_locks_claims"); }

std::string sql_store::damage() {
  sqlite3_stmt* look = nullptr;
  const char* const question =
      "SELECT (SELECT count(*) FROM others WHERE what = 'stock') = 1 AND (SELECT count(*) FROM others) = 1"
      "   AND (SELECT count(*) FROM sqlite_master WHERE type = 'table') = 6";
  sqlite3_prepare_v2(db_, question, -1, &look, nullptr);
  const bool whole = sqlite3_step(look) == SQLITE_ROW && sqlite3_column_int(look, 0) == 1;
  sqlite3_finalize(look);
  return whole ? "" : "another's table was touched";
}

void sql_store::execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error{sqlite3_errmsg(db_)};
}

}  // namespace holdfast::sim
