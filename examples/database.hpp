// SPDX-License-Identifier: Apache-2.0
#pragma once

// The shop's database, as the examples have it: a SQLite file with the table `stock`, at first 10 units of
// item 42. A program has its own database in place of it.

#include <memory>
#include <sqlite3.h>
#include <stdexcept>
#include <string>

#include <holdfast/fencing_token.hpp>

class database {
 public:
  /// Opens the file, which is made if it does not exist; ":memory:" is no file.
  explicit database(const std::string& file) {
    sqlite3* opened = nullptr;
    const int status = sqlite3_open(file.c_str(), &opened);
    connection_.reset(opened);
    if (status != SQLITE_OK) throw std::runtime_error{"cannot open " + file};
    sqlite3_busy_timeout(opened, 10'000);
    execute("CREATE TABLE IF NOT EXISTS stock (sku integer PRIMARY KEY, units integer, fence integer)");
    execute("INSERT OR IGNORE INTO stock VALUES (42, 10, 0)");
  }

  /// Executes one statement. Its parameter `:token`, if it has one, is the number of the token.
  /// \return how many rows it has changed.
  int execute(const std::string& sql, holdfast::fencing_token token = {}) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK) fail();
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement{prepared, sqlite3_finalize};
    const int parameter = sqlite3_bind_parameter_index(prepared, ":token");
    if (parameter != 0) sqlite3_bind_int64(prepared, parameter, static_cast<sqlite3_int64>(token.value()));
    if (sqlite3_step(prepared) != SQLITE_DONE) fail();
    return sqlite3_changes(connection_.get());
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error{sqlite3_errmsg(connection_.get())}; }

  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> connection_{nullptr, sqlite3_close};
};
