// SPDX-License-Identifier: Apache-2.0
// The table of fences and its triggers, which a resource in an SQLite file uses.

#include <gmock/gmock.h>

#include "faults/paused_writer.hpp"
#include "faults/sqlite/on_a_file.hpp"
#include <holdfast/schema.hpp>

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

/// A file of data with fences, and the store of the locks in another one.
class sqlite_fences : public on_a_file {
 protected:
  sqlite_fences() {
    other_connection{data_}.run("CREATE TABLE stock (units INT); INSERT INTO stock VALUES (10)");
    EXPECT_TRUE(apply_fence_schema("sqlite:" + data_));
    EXPECT_EQ(::sqlite3_open(data_.c_str(), &database_), SQLITE_OK);
  }
  ~sqlite_fences() override { ::sqlite3_close(database_); }
  /// The error; empty: there is none.
  std::string outcome(const std::string& statement) {
    const bool done = ::sqlite3_exec(database_, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    return done ? "" : ::sqlite3_errmsg(database_);
  }
  /// The statement of docs/fencing.md.
  static std::string fence(const std::string& resource, const std::string& token) {
    const std::string page = bytes_of(HOLDFAST_DOCS "/fencing.md");
    const auto begin = page.find("INSERT INTO holdfast_fences");
    std::string statement = page.substr(begin, page.find(';', begin) - begin);
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>{"'stock'", resource}, {"1795744375668067", token}})
      statement.replace(statement.find(from), from.size(), to);
    return statement;
  }
  std::string seen(const std::string& resource) {
    return other_connection{data_}.value("SELECT token FROM holdfast_fences WHERE resource = " + resource);
  }
  std::string data_ = folder_.file("data.db");
  sqlite3* database_ = nullptr;
};

TEST_F(sqlite_fences, refuse_an_older_token_and_admit_the_same) {
  EXPECT_EQ(outcome(fence("'stock'", "5")), "");
  EXPECT_EQ(outcome(fence("'stock'", "5")), "");
  EXPECT_THAT(outcome(fence("'stock'", "4")), HasSubstr("holdfast: the fencing token is older"));
  EXPECT_EQ(outcome(fence("'stock'", "9223372036854775807")), "");
  EXPECT_EQ(seen("'stock'"), "9223372036854775807");
  for (const char* token : {"0", "-1", "NULL", "'x'"})
    EXPECT_NE(outcome(fence("'other'", token)), "") << token;
  for (const char* name : {"NULL", "x'61'"}) EXPECT_NE(outcome(fence(name, "6")), "") << name;
}

TEST_F(sqlite_fences, lower_no_token_by_another_statement) {
  EXPECT_EQ(outcome(fence("'stock'", "5")), "");
  for (const char* statement :
       {"UPDATE holdfast_fences SET token = 4", "UPDATE holdfast_fences SET resource = 'other'",
        "INSERT OR REPLACE INTO holdfast_fences VALUES ('stock', 4)",
        "REPLACE INTO holdfast_fences VALUES ('stock', 4)",
        "INSERT OR IGNORE INTO holdfast_fences VALUES ('stock', 4)"})
    EXPECT_THAT(outcome(statement), HasSubstr("holdfast:")) << statement;
  EXPECT_EQ(seen("'stock'"), "5");
}

TEST_F(sqlite_fences, compare_names_byte_for_byte) {
  for (const char* name : {R"('O''Brien "$1" {fence} \ %')", "'stock'", "'Stock'", "'stock '", "''"}) {
    EXPECT_EQ(seen(name), "") << name;
    EXPECT_EQ(outcome(fence(name, "7")), "") << name;
    EXPECT_EQ(seen(name), "7") << name;
  }
}

TEST_F(sqlite_fences, keep_a_resource_until_the_transaction_ends) {
  EXPECT_EQ(outcome("BEGIN"), "");
  EXPECT_EQ(outcome(fence("'stock'", "5")), "");
  sqlite3* second = nullptr;
  ASSERT_EQ(::sqlite3_open(data_.c_str(), &second), SQLITE_OK);
  const auto fenced = [&](const char* token) {
    return ::sqlite3_exec(second, fence("'stock'", token).c_str(), nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(fenced("6"), SQLITE_BUSY);
  EXPECT_EQ(outcome("COMMIT"), "");
  EXPECT_EQ(fenced("4"), SQLITE_CONSTRAINT);
  EXPECT_EQ(fenced("6"), SQLITE_OK);
  ::sqlite3_close(second);
}

TEST_F(sqlite_fences, are_made_once_and_put_back) {
  EXPECT_FALSE(apply_fence_schema("sqlite:" + data_));
  EXPECT_EQ(outcome("DROP TRIGGER holdfast_fence_insert"), "");
  EXPECT_TRUE(apply_fence_schema("sqlite:" + data_));
  EXPECT_EQ(outcome(fence("'stock'", "5")), "");
  EXPECT_NE(outcome(fence("'stock'", "4")), "");
}

TEST_F(sqlite_fences, of_others_are_left_alone_and_no_file_is_made) {
  const std::string other = folder_.file("other.db");
  EXPECT_TRUE(failure_of([&] { (void)apply_fence_schema("sqlite:" + other); }).code);
  EXPECT_NE(::access(other.c_str(), F_OK), 0);
  for (const char* made :
       {"TABLE holdfast_fences (x INT)", "TABLE holdfast_fences (resource TEXT, token INTEGER)",
        "TABLE Holdfast_Fences (resource TEXT PRIMARY KEY, token INTEGER)",
        "VIEW holdfast_fences AS SELECT 'stock' AS resource, 5 AS token"}) {
    ::unlink(other.c_str());
    other_connection{other}.run(std::string{"CREATE "} + made);
    EXPECT_EQ(failure_of([&] { (void)apply_fence_schema("sqlite:" + other); }).code, errc::foreign_store)
        << made;
  }
}

TEST_F(sqlite_fences, can_be_in_the_file_of_the_locks) {
  make_store();
  EXPECT_TRUE(apply_fence_schema(url()));
  client locks = open();
  EXPECT_TRUE(mutex(locks, "stock").try_acquire());
}

TEST_F(sqlite_fences, keep_the_late_write_of_a_paused_holder_away) {
  for (const bool checked : {false, true}) {
    const auto statements = [&](fencing_token token, int units) {
      return "BEGIN IMMEDIATE; " +
             (checked ? fence("'stock'", std::to_string(token.value())) + "; " : std::string{}) +
             "UPDATE stock SET units = " + std::to_string(units) + "; COMMIT";
    };
    const auto write = [&](fencing_token token) {
      return std::vector<std::string>{"sqlite3", "-bail", data_, statements(token, 1)};
    };
    const auto succeed = [&](fencing_token token) { EXPECT_EQ(outcome(statements(token, 9)), ""); };
    EXPECT_EQ(status_of_late_write(url(), write, succeed) == 0, !checked);
    EXPECT_EQ(other_connection{data_}.value("SELECT units FROM stock"), checked ? "9" : "1");
  }
}

}  // namespace
}  // namespace holdfast::faults
