// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include "faults/faults.hpp"

namespace holdfast::faults {

/// Somebody else's connection to a file of SQLite.
class other_connection {
 public:
  explicit other_connection(const std::string& file) {
    EXPECT_EQ(::sqlite3_open(file.c_str(), &database_), SQLITE_OK) << file;
    ::sqlite3_busy_timeout(database_, 10'000);
  }
  ~other_connection() { ::sqlite3_close(database_); }
  other_connection(const other_connection&) = delete;
  other_connection& operator=(const other_connection&) = delete;

  void run(const std::string& statements) {
    EXPECT_EQ(::sqlite3_exec(database_, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << ::sqlite3_errmsg(database_);
  }

  /// The first column of the first row.
  std::string value(const std::string& query) {
    ::sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(::sqlite3_prepare_v2(database_, query.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << ::sqlite3_errmsg(database_);
    std::string result;
    if (::sqlite3_step(statement) == SQLITE_ROW) {
      const auto* text = ::sqlite3_column_text(statement, 0);
      if (text != nullptr) result = reinterpret_cast<const char*>(text);
    }
    ::sqlite3_finalize(statement);
    return result;
  }

 private:
  ::sqlite3* database_ = nullptr;
};

/// A place for a store of its own.
class on_a_file : public testing::Test {
 protected:
  std::string url() const { return "sqlite:" + file_; }
  /// A client, open in this process.
  client open(const lock_options& locks = {}) { return client{url(), client_options{}.locks(locks)}; }
  /// The first claim makes the store.
  void make_store() {
    client locks = open();
    mutex{locks, "first"}.lock();
  }
  /// Another process with a client.
  std::unique_ptr<actor> start() {
    auto other = std::make_unique<actor>();
    EXPECT_EQ(other->ask("open " + url()), "open");
    return other;
  }

  test::scratch_folder folder_;
  std::string file_ = folder_.file("locks.db");
};

}  // namespace holdfast::faults
