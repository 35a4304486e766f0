// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/link/fences.hpp"

#include <cerrno>
#include <memory>
#include <sqlite3.h>

#include "holdfast/error.hpp"
#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/fork_guard.hpp"
#include "stores/sqlite/protocol/script.hpp"

namespace holdfast::sqlite {

namespace {

constexpr int busy_limit_ms = 5000;

constexpr const char* table_query =
    "SELECT max(sql) FROM sqlite_master WHERE name = 'holdfast_fences' COLLATE NOCASE";
constexpr const char* definitions_query =
    "SELECT group_concat(sql, ' ') FROM (SELECT sql FROM sqlite_master "
    "WHERE tbl_name = 'holdfast_fences' ORDER BY name)";

/// The text that SQLite keeps of a table made by this statement. It has the checks and the key.
std::string kept_text_of(std::string_view statement) {
  constexpr std::string_view condition = "IF NOT EXISTS ";
  std::string kept{statement.substr(0, statement.rfind(';'))};
  return kept.erase(kept.find(condition), condition.size());
}

/// A file of data that is not a store.
class data_file {
 public:
  explicit data_file(const std::string& path) : path_{path} {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(
        path.c_str(), &opened,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW, nullptr);
    db_.reset(opened);
    if ((code & 0xFF) == SQLITE_CANTOPEN && sqlite3_system_errno(opened) == ENOENT) {
      throw error{errc::unavailable, "cannot make the fences of sqlite:" + path_ +
                                         ": the file does not exist; --fences needs the data's own file"};
    }
    require(code == SQLITE_OK, code);
    trust_no_schema(db_.get());
    sqlite3_busy_timeout(db_.get(), busy_limit_ms);
  }

  void execute(const char* text) {
    const int code = sqlite3_exec(db_.get(), text, nullptr, nullptr, nullptr);
    require(code == SQLITE_OK, code);
  }
  /// The first value of a query's only row; empty: null.
  [[nodiscard]] std::string text(const char* query) {
    sqlite3_stmt* prepared = nullptr;
    int code = sqlite3_prepare_v2(db_.get(), query, -1, &prepared, nullptr);
    const std::unique_ptr<sqlite3_stmt, finalizer> statement{prepared};
    require(code == SQLITE_OK, code);
    code = sqlite3_step(prepared);
    require(code == SQLITE_ROW, code);
    const unsigned char* found = sqlite3_column_text(prepared, 0);
    return found == nullptr ? "" : reinterpret_cast<const char*>(found);
  }

 private:
  struct closer {
    void operator()(sqlite3* db) const noexcept { sqlite3_close(db); }
  };
  struct finalizer {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };

  void require(bool condition, int code) const {
    if (condition) return;
    const auto failed = request_error_of(db_.get(), code, path_);
    throw error{failed.reason.code,
                "cannot make the fences of sqlite:" + path_ + ": " + failed.reason.message};
  }

  std::string path_;
  std::unique_ptr<sqlite3, closer> db_;
};

}  // namespace

bool provide_fences(const std::string& path) {
  fork_guard::close_inherited();
  const annotated::lock no_fork{fork_guard::reading()};
  data_file file{path};
  file.execute("BEGIN IMMEDIATE");  // closing rolls back
  const auto statements = sql::fences();
  const std::string table = file.text(table_query);
  if (!table.empty() && table != kept_text_of(statements.front().text)) {
    throw error{errc::foreign_store, "the table holdfast_fences in " + path + " is not Holdfast's"};
  }
  const std::string before = file.text(definitions_query);
  for (const sql::statement& each : statements) file.execute(each.text.c_str());
  const bool changed = file.text(definitions_query) != before;
  file.execute("COMMIT");
  return changed;
}

}  // namespace holdfast::sqlite
