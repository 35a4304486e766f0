// The floor under `holdfast bench pair` on SQLite: what an insert and a delete of one row cost through the
// sqlite3 library alone, each a transaction of its own, in WAL mode with synchronous = NORMAL.
//
//     sqlite_floor FILE [COUNT [PAGE_SIZE]]
//
// Prints one JSON object. PAGE_SIZE is SQLite's default unless given.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sqlite3.h>
#include <string>
#include <vector>

namespace {

void require(sqlite3* db, bool holds) {
  if (holds) return;
  std::fprintf(stderr, "sqlite_floor: %s\n", sqlite3_errmsg(db));
  std::exit(1);
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
  using clock = std::chrono::steady_clock;
  if (argc < 2) {
    std::fputs("usage: sqlite_floor FILE [COUNT [PAGE_SIZE]]\n", stderr);
    return 64;
  }
  const std::string path = argv[1];
  const long count = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 20000;
  const long page_size = argc > 3 ? std::strtol(argv[3], nullptr, 10) : 4096;
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

  std::vector<double> us;
  us.reserve(static_cast<std::size_t>(count));
  const auto one_pair = [&] {
    sqlite3_bind_int64(insert, 3, clock::now().time_since_epoch().count());
    run(db, insert);
    run(db, erase);
  };
  for (int i = 0; i < 1000; ++i) one_pair();
  const auto begin = clock::now();
  for (long i = 0; i < count; ++i) {
    const auto start = clock::now();
    one_pair();
    us.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
  }
  const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
  std::sort(us.begin(), us.end());
  std::printf(
      "{\"scenario\": \"floor\", \"store\": \"sqlite3 alone\", \"page_size\": %ld, \"count\": %ld, "
      "\"p50_us\": %.2f, \"p99_us\": %.2f, \"per_s\": %.0f}\n",
      page_size, count, us[us.size() / 2], us[us.size() * 99 / 100], static_cast<double>(count) / seconds);

  sqlite3_finalize(insert);
  sqlite3_finalize(erase);
  sqlite3_close(db);
  return 0;
}
