#include "simulation/sql_mutants.hpp"

#include <stdexcept>

#include "stores/sqlite/protocol/statements.hpp"

namespace holdfast::sim {

std::string text_mutation::operator()(const sql::statement& s) {
  std::string text = s.text;
  for (change& c : changes_) {
    if (c.label != s.label) continue;
    const auto at = text.find(c.from);
    if (at == std::string::npos || text.find(c.from, at + 1) != std::string::npos) {
      throw std::runtime_error{"a mutant does not fit its statement any more: " + s.label};
    }
    text.replace(at, c.from.size(), c.to);
    ++c.times;
  }
  return text;
}

void text_mutation::require_done() const {
  for (const change& c : changes_) {
    if (c.times == 0) throw std::runtime_error{"a mutant's statement is gone: " + std::string{c.label}};
  }
}

additions additions_of(mutant which) {
  switch (which) {
    case mutant::select_then_update:
      return {
          "CREATE TEMP TABLE seen_capacities"
          " (owner PRIMARY KEY, token, head, held, holder_left, dead, other)",
          ""};
    case mutant::row_deleted_on_release:
      return {"",
              "CREATE TRIGGER tidies AFTER DELETE ON holdfast_locks_claims"
              " WHEN NOT EXISTS (SELECT 1 FROM holdfast_locks_claims WHERE name = OLD.name)"
              " BEGIN DELETE FROM holdfast_locks WHERE name = OLD.name; END"};
    default: return {};
  }
}

capacity_reader::capacity_reader(sqlite3* db) : db_{db} {
  const auto names = sql::tables::named("holdfast_locks");
  std::string capacity = sql::statements_of(tickets::acquire{}, names).front().text;
  capacity.erase(capacity.rfind(';'));
  const std::string open = sql::statements_of(sql::text::open, names).front().text;
  for (const std::string& text :
       {open, "REPLACE INTO seen_capacities SELECT :owner, r.* FROM (" + capacity + ") r"}) {
    sqlite3_stmt*& next = statements_.emplace_back();
    if (sqlite3_prepare_v2(db_, text.c_str(), -1, &next, nullptr) != SQLITE_OK) {
      throw std::runtime_error{sqlite3_errmsg(db_)};
    }
  }
}

capacity_reader::~capacity_reader() {
  for (sqlite3_stmt* const s : statements_) sqlite3_finalize(s);
}

void capacity_reader::read(const store::claim& wanted, std::int64_t now, std::int64_t floor) {
  const auto owner = wanted.owner.bytes();
  for (sqlite3_stmt* const s : statements_) {
    const auto place = [s](const char* name) { return sqlite3_bind_parameter_index(s, name); };
    sqlite3_bind_text(s, place(":name"), wanted.name.data(), static_cast<int>(wanted.name.size()),
                      SQLITE_TRANSIENT);
    sqlite3_bind_blob(s, place(":owner"), owner.data(), static_cast<int>(owner.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int64(s, place(":capacity"), store::capacity_of(wanted));
    sqlite3_bind_int64(s, place(":now"), now);
    sqlite3_bind_int64(s, place(":floor"), floor);
    if (sqlite3_step(s) != SQLITE_DONE) throw std::runtime_error{sqlite3_errmsg(db_)};
    sqlite3_reset(s);
  }
}

text_mutation mutation_of(mutant which) {
  using changes = std::vector<text_mutation::change>;
  switch (which) {
    case mutant::owner_unchecked:
      // Whoever holds now is the one whose hold ends.
      return text_mutation{changes{{"drop", "token = :token AND owner = :owner",
                                    "token = (SELECT granted FROM holdfast_locks WHERE name = :name)"}}};
    case mutant::extension_resurrects: return text_mutation{changes{{"keep", " AND expires > :now", ""}}};
    case mutant::dead_waiter_served:
      return text_mutation{changes{{"next", "w.token > s.token AND w.expires > :now", "w.token > s.token"}}};
    case mutant::reader_leaked:
      // One that died is never taken off the sum.
      return text_mutation{changes{{"capacity", "sum(CASE WHEN h.expires > :now THEN h.weight END)",
                                    "sum(CASE WHEN h.expires > :now OR h.weight = 1 THEN h.weight END)"},
                                   {"next", "h.token <= l.granted AND h.expires > :now",
                                    "h.token <= l.granted AND (h.expires > :now OR h.weight = 1)"}}};
    case mutant::token_not_floored:
      return text_mutation{changes{{"capacity", "max(l.token + 1, :floor)", "l.token + 1"}}};
    case mutant::request_moves_end:
      return text_mutation{changes{{"ask", "SET metadata =", "SET expires = expires + 1000000, metadata ="}}};
    case mutant::select_then_update:
      return text_mutation{changes{{"capacity", "SELECT max(l.token + 1, :floor) AS token,",
                                    "SELECT token, head, held, holder_left, dead, other FROM seen_capacities"
                                    " WHERE owner = :owner /* "}}};
    default: return {};
  }
}

}  // namespace holdfast::sim
