// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <vector>

#include "simulation/mutant.hpp"
#include "simulation/sql_mutants.hpp"
#include "simulation/standing.hpp"
#include "stores/sqlite/link/database.hpp"

namespace holdfast::sim {

/// The tables of protocol/sql in an SQLite database in memory, behind the database of link/sqlite: the same
/// C++ and the same SQL text as in production, but for a mutant's. Besides, what a server that comes back
/// will know of them, and what is not ours. Serves one world after another.
class sql_tables {
 public:
  struct clocks {
    std::function<store::time_point()> lease;
    std::function<std::chrono::system_clock::time_point()> wall;
  };
  /// \param keep_idle how long it remembers a name that nobody uses.
  sql_tables(mutant with, clocks by, duration keep_idle, duration sweep_every);
  ~sql_tables();
  sql_tables(const sql_tables&) = delete;
  sql_tables& operator=(const sql_tables&) = delete;

  struct result {
    tickets::reply answer;
    std::vector<store::client_notification> notifications;
    std::vector<std::size_t> forgotten;  // names, by the sweep after it
  };
  /// One transaction; its result is valid until the next. \throws sqlite::broken; then nothing has been
  /// carried out.
  [[nodiscard]] result& carry_out(const tickets::request& request, const owner_id& client);

  /// Likewise, but for the commit.
  void carry_out_in_vain(const tickets::request& request, const owner_id& client);

  /// What stands there, for whoever compares.
  [[nodiscard]] std::vector<standing> claims();
  void remember() { execute(remember_); }
  void fall_back();
  void forget() { execute(forget_); }
  [[nodiscard]] bool is_whole();

 private:
  using recipe = std::vector<sqlite3_stmt*>;
  void run(const tickets::request& request, const owner_id& client);
  [[nodiscard]] recipe prepare(const char* statements);
  void execute(const recipe& all);
  void make_what_is_not_ours();
  static void note_forgotten(sqlite3_context* of, int count, sqlite3_value** name);

  clocks clocks_;
  text_mutation change_;
  std::unique_ptr<sqlite::database> database_;
  sqlite3* db_ = nullptr;  // its own handle
  result last_;
  bool sweeps_now_ = false;
  recipe every_claim_;
  recipe forget_;
  recipe remember_;
  recipe fall_back_;
  recipe is_whole_;
};

}  // namespace holdfast::sim
