#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/diagnosis.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::sqlite {
namespace {

using grade = finding::grade;

/// A file that a client changes, and closes, each time that the check of its integrity begins.
class file_with_a_client {
 public:
  file_with_a_client() {
    EXPECT_TRUE(
        come_and_go("PRAGMA journal_mode = WAL; PRAGMA application_id = " + std::to_string(application_id) +
                    "; PRAGMA user_version = " + std::to_string(schema_version) +
                    "; CREATE TABLE t (token INTEGER); CREATE TABLE t_claims (x);"
                    "CREATE TABLE t_sweeps (x); CREATE TABLE ballast (x UNIQUE)"));
    fill(300);
    current = this;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&watch));
  }
  ~file_with_a_client() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&watch));
    current = nullptr;
  }
  file_with_a_client(const file_with_a_client&) = delete;
  file_with_a_client& operator=(const file_with_a_client&) = delete;

  [[nodiscard]] std::string path() const {
    return std::filesystem::canonical(scratch_.path()).string() + "/locks.db";
  }
  int visits = 0;  // still to come

 private:
  static inline file_with_a_client* current = nullptr;

  static int watch(sqlite3* db, char**, const sqlite3_api_routines*) {
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, &on_statement, nullptr);
  }
  static int on_statement(unsigned, void*, void*, void* text) {
    const bool is_check = std::string_view{static_cast<const char*>(text)}.starts_with("PRAGMA quick_check");
    if (is_check && current->visits > 0) current->fill(100 + 50 * --current->visits);
    return 0;
  }
  void fill(int rows) const {
    EXPECT_TRUE(
        come_and_go("DELETE FROM ballast; WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n "
                    "WHERE i < " +
                    std::to_string(rows) + ") INSERT INTO ballast SELECT randomblob(2000) FROM n"));
  }
  /// As the only client: SQLite removes the -wal at its end.
  [[nodiscard]] bool come_and_go(const std::string& statements) const {
    sqlite3* db = nullptr;
    const bool is_done = sqlite3_open(path().c_str(), &db) == SQLITE_OK &&
                         sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    sqlite3_close(db);
    return is_done;
  }

  test::scratch_folder scratch_;
};

finding condition(const std::vector<finding>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &finding::condition);
  return found == all.end() ? finding{} : *found;
}

TEST(sqlite_diagnosis, calls_no_file_damaged_that_a_client_changes_meanwhile) {
  file_with_a_client file;
  file.visits = 1;
  const auto all = diagnose(file.path(), sql::tables::named("t"), {}, std::chrono::seconds{60});
  EXPECT_EQ(file.visits, 0);
  EXPECT_EQ(condition(all, "integrity").observed, "quick_check finds no damage");
  EXPECT_FALSE(std::filesystem::exists(file.path() + "-wal"));
}

TEST(sqlite_diagnosis, gives_up_where_clients_keep_coming) {
  file_with_a_client file;
  file.visits = 3;
  const auto all = diagnose(file.path(), sql::tables::named("t"), {}, std::chrono::seconds{60});
  EXPECT_EQ(file.visits, 0);
  EXPECT_EQ(condition(all, "file").observed, "clients come and go; look again");
  EXPECT_EQ(condition(all, "file").result, grade::unknown);
  EXPECT_EQ(condition(all, "integrity"), finding{}) << "nothing is said of a file that was half read";
}

/// In a process of its own: nothing is closed to root, and nobody becomes root again.
TEST(sqlite_diagnosis, tells_rights_that_are_missing) {
  const test::scratch_folder scratch;
  const std::string folder = std::filesystem::canonical(scratch.path()).string();
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(3);
    const auto rights = [&](const std::string& path) {
      return condition(diagnose(folder + path, sql::tables::named("t"), {}, std::chrono::seconds{1}),
                       "rights");
    };
    const finding here = rights("/locks.db");
    const finding below = rights("/below/locks.db");
    const bool is_told = here.result == grade::broken && below.result == grade::broken &&
                         below.observed.find("/below is not there") != std::string::npos;
    ::_exit(is_told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
}

}  // namespace
}  // namespace holdfast::sqlite
