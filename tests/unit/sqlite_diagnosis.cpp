// SPDX-License-Identifier: Apache-2.0
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

/// A file that is cut off each time that its tokens begin to be read.
class file_with_a_client {
 public:
  file_with_a_client() {
    sqlite3* db = nullptr;
    const std::string statements =
        "PRAGMA journal_mode = WAL; PRAGMA application_id = " + std::to_string(application_id) +
        "; PRAGMA user_version = " + std::to_string(schema_version) +
        "; CREATE TABLE t (token INTEGER); CREATE TABLE t_claims (x); CREATE TABLE t_sweeps (x)";
    EXPECT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
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

 private:
  static inline file_with_a_client* current = nullptr;

  static int watch(sqlite3* db, char**, const sqlite3_api_routines*) {
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, &on_statement, nullptr);
  }
  static int on_statement(unsigned, void*, void*, void* text) {
    if (std::string_view{static_cast<const char*>(text)}.starts_with("SELECT max(token)"))
      std::filesystem::resize_file(current->path(), 4096);
    return 0;
  }

  test::scratch_folder scratch_;
};

finding condition(const std::vector<finding>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &finding::condition);
  return found == all.end() ? finding{} : *found;
}

TEST(sqlite_diagnosis, calls_no_file_damaged_that_a_client_changes_meanwhile) {
  const file_with_a_client file;
  const auto all = diagnose(file.path(), sql::naming{"", "t", '"'}, {}, std::chrono::seconds{60});
  EXPECT_EQ(condition(all, "file").observed, "clients come and go; look again");
  EXPECT_EQ(condition(all, "file").result, grade::unknown);
  EXPECT_EQ(condition(all, "journal"), finding{}) << "nothing is said of a file that was half read";
  EXPECT_FALSE(std::filesystem::exists(file.path() + "-wal"));
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
      return condition(diagnose(folder + path, sql::naming{"", "t", '"'}, {}, std::chrono::seconds{1}),
                       "place");
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
