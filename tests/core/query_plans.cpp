// SPDX-License-Identifier: Apache-2.0
// How SQLite carries out each statement: by the primary key, so that its cost does not grow with the tables.

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <sqlite3.h>
#include <string>
#include <vector>

#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/protocol/script.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast {
namespace {

/// A database as the link makes it, with its plans to be asked for.
class query_plans : public testing::Test {
 protected:
  query_plans() {
    const std::string path = folder_.file("locks.db");
    const sqlite::database make_it{{.path = path, .names = names}};
    sqlite3* opened = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &opened), SQLITE_OK);
    db_.reset(opened);
  }

  /// The lines of a plan that read a table from end to end.
  std::vector<std::string> scans_of(const sql::statement& s) {
    sqlite3_stmt* plan = nullptr;
    const std::string text = "EXPLAIN QUERY PLAN " + s.text;
    EXPECT_EQ(sqlite3_prepare_v2(db_.get(), text.c_str(), -1, &plan, nullptr), SQLITE_OK)
        << s.label << ": " << sqlite3_errmsg(db_.get());
    std::vector<std::string> scans;
    while (sqlite3_step(plan) == SQLITE_ROW) {
      const std::string line = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
      if (line.find("USING PRIMARY KEY") != std::string::npos) ++keyed_;
      // What serve.sql has served so far is no table: it is as long as what is handed out. Nor is a part of a
      // listing, nor the row that acquire.sql has read.
      if (std::set<std::string>{"SCAN served", "SCAN s", "SCAN p", "SCAN g", "SCAN n", "SCAN q"}.contains(
              line))
        continue;
      // Neither a scan is wanted, nor an index made for the occasion.
      const bool reads_all = line.starts_with("SCAN") || line.find("AUTOMATIC") != std::string::npos;
      if (reads_all) scans.push_back(s.label + ": " + line);
    }
    sqlite3_finalize(plan);
    return scans;
  }

  const sql::naming names{"", "holdfast_locks", '"'};
  int keyed_ = 0;

 private:
  struct closer {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  test::scratch_folder folder_;
  std::unique_ptr<sqlite3, closer> db_;
};

TEST_F(query_plans, go_by_the_primary_key) {
  std::vector<std::string> all;
  for (const sql::script& script : sql::scripts(names)) {
    if (script.routine == "sweep") continue;  // it looks for what nobody uses
    for (const sql::statement& s : script.statements) {
      for (const std::string& scan : scans_of(s)) all.push_back(s.label + " " + scan);
    }
  }
  EXPECT_EQ(all, std::vector<std::string>{});
  EXPECT_GT(keyed_, 20);
}

}  // namespace
}  // namespace holdfast
