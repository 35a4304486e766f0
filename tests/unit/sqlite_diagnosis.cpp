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
#include "stores/sqlite/link/file_facts.hpp"
#include "support/scratch_folder.hpp"
#include "unit/findings.hpp"

namespace holdfast::sqlite {
namespace {

using grade = finding::grade;

file_facts in_order() {
  file_facts facts;
  facts.path = "/var/lib/app/locks.db";
  facts.nearest_folder = facts.wanted_folder = "/var/lib/app";
  facts.mount_point = "/var";
  facts.above = {file_facts::entry{"/var/lib", 0, 0, S_IFDIR | 0755, 2}};
  facts.file = file_facts::entry{facts.path, 0, 0, S_IFREG | 0600, 1, 32768};
  facts.folder = file_facts::entry{facts.nearest_folder, 0, 0, S_IFDIR | 0700, 2};
  facts.free_bytes = 1ULL << 30U;
  return facts;
}

finding only(const file_facts& facts) { return test::only_broken(findings_of(facts)); }

TEST(sqlite_diagnosis, tells_a_network_file_system_even_where_it_is_accepted) {
  file_facts facts = in_order();
  facts.network = "NFS";
  EXPECT_EQ(only(facts).condition, "file system");
  EXPECT_EQ(only(facts).result, grade::broken);
  facts.accepts_network = true;
  EXPECT_EQ(only(facts).result, grade::warning);
}

TEST(sqlite_diagnosis, tells_a_file_that_is_mounted_without_its_folder) {
  file_facts facts = in_order();
  facts.is_mounted_alone = true;
  EXPECT_EQ(only(facts).condition, "mount");
  EXPECT_EQ(only(facts).result, grade::broken);
}

TEST(sqlite_diagnosis, tells_a_disk_that_is_nearly_full) {
  file_facts facts = in_order();
  facts.free_bytes = 1000;
  EXPECT_EQ(only(facts).condition, "space");
  facts = in_order();
  facts.counts_inodes = true;
  facts.free_inodes = 3;
  EXPECT_EQ(only(facts).condition, "space");
  EXPECT_EQ(only(facts).observed, "1024 MiB are free, and 3 inodes");
}

TEST(sqlite_diagnosis, tells_a_clock_whose_offset_cannot_be_read) {
  file_facts facts = in_order();
  facts.has_proc = false;
  EXPECT_EQ(only(facts).condition, "lease clock");
}

TEST(sqlite_diagnosis, tells_a_file_that_was_too_large_to_be_examined) {
  file_facts facts = in_order();
  facts.database = file_facts::content{};
  facts.database->has_tables = true;
  facts.database->journal_mode = "wal";
  facts.database->newest_token = 0;
  EXPECT_EQ(only(facts).condition, "integrity");
  EXPECT_EQ(only(facts).result, grade::unknown);
}

TEST(sqlite_diagnosis, says_nothing_of_the_wall_clock_without_a_token) {
  file_facts facts = in_order();
  facts.database = file_facts::content{};
  facts.database->has_tables = true;
  facts.database->journal_mode = "wal";
  facts.database->damage = "ok";
  EXPECT_EQ(only(facts).condition, "wall clock");
  EXPECT_EQ(only(facts).result, grade::unknown);
}

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

TEST(sqlite_diagnosis, quotes_a_path_in_a_command) {
  file_facts facts = in_order();
  facts.path = "/it's here/locks.db";
  facts.file->names = 2;
  EXPECT_TRUE(only(facts).remedy.starts_with("find '/var' -xdev")) << "a name may be anywhere below";
  EXPECT_NE(only(facts).remedy.find(R"(-samefile '/it'\''s here/locks.db')"), std::string::npos)
      << only(facts).remedy;
}

TEST(sqlite_diagnosis, removes_no_file_with_commits) {
  file_facts facts = in_order();
  facts.wrong = wrong_neighbour{facts.path + "-shm", "is not a plain file"};
  EXPECT_EQ(only(facts).observed, "/var/lib/app/locks.db-shm is not a plain file");
  EXPECT_EQ(only(facts).remedy, "with all clients closed: rm '/var/lib/app/locks.db-shm'");
  for (const char* suffix : {"-wal", "-journal"}) {
    facts.wrong->path = facts.path + suffix;
    EXPECT_EQ(only(facts).remedy.find("rm "), std::string::npos) << only(facts).remedy;
    EXPECT_NE(only(facts).remedy.find("together with the database"), std::string::npos);
  }
}

TEST(sqlite_diagnosis, tells_a_folder_whose_owner_could_replace_the_file) {
  file_facts facts = in_order();
  facts.user = 1000;
  facts.file->owner = 1001;
  for (file_facts::entry* folder : {&*facts.folder, &facts.above.front()}) {
    for (const uid_t trusted : {0U, 1000U, 1001U}) {
      folder->owner = trusted;
      for (const finding& each : findings_of(facts)) EXPECT_EQ(each.result, grade::kept) << each.observed;
    }
    folder->owner = 1002;
    EXPECT_EQ(only(facts).condition, "folder");
    EXPECT_EQ(only(facts).result, grade::warning);
    EXPECT_NE(only(facts).observed.find(folder->path + " has the mode"), std::string::npos);
    folder->owner = 0;
  }
}

TEST(sqlite_diagnosis, tells_a_folder_above_that_its_group_may_write) {
  file_facts facts = in_order();
  facts.above.front().mode = S_IFDIR | 0775;
  EXPECT_EQ(only(facts).condition, "folder");
  EXPECT_EQ(only(facts).remedy, "chmod g-w '/var/lib'");
  facts.above.front().mode = S_IFDIR | S_ISVTX | 0775;
  for (const finding& each : findings_of(facts)) EXPECT_EQ(each.result, grade::kept) << each.observed;
}

TEST(sqlite_diagnosis, opens_no_folder_of_the_system) {
  file_facts facts = in_order();
  facts.user = 1000;
  facts.file.reset();
  facts.folder.reset();
  facts.nearest_folder = "/var/lib";
  facts.access_problem = "the folder /var/lib/app is not there";
  EXPECT_EQ(only(facts).condition, "rights");
  EXPECT_NE(only(facts).remedy.find("mkdir -p '/var/lib/app' && chown 1000 '/var/lib/app'"),
            std::string::npos)
      << only(facts).remedy;
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
