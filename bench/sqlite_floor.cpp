// SPDX-License-Identifier: Apache-2.0
// The floor under `holdfast bench pair` on SQLite: what an insert and a delete of one row cost through the
// sqlite3 library alone, each a transaction of its own, in WAL mode with synchronous = NORMAL.
//
//     sqlite_floor FILE [COUNT [PAGE_SIZE]]
//
// Prints one JSON object. PAGE_SIZE is SQLite's default unless given.

#include <cstdio>
#include <filesystem>
#include <sqlite3.h>
#include <string>

#include "floor.hpp"

namespace {

void require(sqlite3* db, bool holds) {
  if (!holds) give_up(sqlite3_errmsg(db));
}

sqlite3_stmt* prepared(sqlite3* db, const char* text) {
  sqlite3_stmt* statement = nullptr;
  require(db, sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) == SQLITE_OK);
  return statement;
}

void run(sqlite3* db, sqlite3_stmt* statement) {
  require(db, sqlite3_step(statement) == SQLITE_DONE);
  sqlite3_reset(statement);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage("FILE [COUNT [PAGE_SIZE]]");
  const std::string path = argv[1];
  const long count = number(argc, argv, 2, 20000);
  const long page_size = number(argc, argv, 3, 4096);
  if (count < 1 || std::filesystem::exists(path)) {
    std::fputs("sqlite_floor: COUNT must be at least 1, and FILE must not exist\n", stderr);
    return 64;
  }

  sqlite3* db = nullptr;
  require(db, sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  const std::string set_up = "PRAGMA page_size = " + std::to_string(page_size) +
                             ";"
                             "PRAGMA journal_mode = WAL;"
                             "PRAGMA synchronous = NORMAL;"
                             "CREATE TABLE locks (name TEXT NOT NULL PRIMARY KEY, owner BLOB NOT NULL,"
                             " expires BIGINT NOT NULL) WITHOUT ROWID;";
  require(db, sqlite3_exec(db, set_up.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_stmt* insert = prepared(db, "INSERT INTO locks VALUES (?1, ?2, ?3)");
  sqlite3_stmt* erase = prepared(db, "DELETE FROM locks WHERE name = ?1 AND owner = ?2");
  for (sqlite3_stmt* s : {insert, erase}) {
    sqlite3_bind_text(s, 1, "stock/sku-42", -1, SQLITE_STATIC);
    sqlite3_bind_blob(s, 2, "0123456789abcdef", 16, SQLITE_STATIC);
  }

  const auto one_pair = [&] {
    sqlite3_bind_int64(insert, 3, clock_type::now().time_since_epoch().count());
    run(db, insert);
    run(db, erase);
  };
  print("floor", "sqlite3 alone", measure_pairs(1000, count, one_pair),
        "\"page_size\": " + std::to_string(page_size) + ", ");

  sqlite3_finalize(insert);
  sqlite3_finalize(erase);
  sqlite3_close(db);
  return 0;
}
