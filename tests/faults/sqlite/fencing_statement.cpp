// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include "faults/documented_fencing.hpp"

namespace holdfast::faults {
namespace {

TEST(fencing_statement, of_the_documents_works_on_sqlite) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
  const auto ask = [&](const std::string& statement) {
    std::string answer;
    const auto take = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, statement.c_str(), take, &answer, nullptr), SQLITE_OK) << statement;
    return answer;
  };
  EXPECT_EQ(units_left_by_the_documented_statement(ask), 7);
  sqlite3_close(database);
}

}  // namespace
}  // namespace holdfast::faults
