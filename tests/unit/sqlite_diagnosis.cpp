#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
  facts.nearest_folder = "/var/lib/app";
  facts.file = file_facts::entry{facts.path, 0, 0, S_IFREG | 0600, 1};
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
  facts.database.emplace();
  facts.database->has_tables = true;
  facts.database->journal_mode = "wal";
  EXPECT_EQ(only(facts).condition, "integrity");
  EXPECT_EQ(only(facts).result, grade::unknown);
}

TEST(sqlite_diagnosis, quotes_a_path_in_a_command) {
  file_facts facts = in_order();
  facts.path = "/it's here/locks.db";
  facts.file->names = 2;
  EXPECT_NE(only(facts).remedy.find(R"(-samefile '/it'\''s here/locks.db')"), std::string::npos)
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
    int status = 1;
    for (const finding& each :
         diagnose(folder + "/locks.db", sql::tables::named("t"), false, std::chrono::seconds{1})) {
      if (each.condition == "rights" && each.result == grade::broken) status = 0;
    }
    ::_exit(status);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
}

}  // namespace
}  // namespace holdfast::sqlite
