// `holdfast doctor` on files: each test breaks one condition, and sees it named.

#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor_fixture.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

/// Another program's connection to the file.
class connection {
 public:
  explicit connection(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error{sqlite3_errmsg(db_)};
  }
  ~connection() { sqlite3_close(db_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void execute(const std::string& text) {
    if (sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      throw std::runtime_error{text + ": " + sqlite3_errmsg(db_)};
  }

 private:
  sqlite3* db_ = nullptr;
};

class doctor_on_sqlite : public doctor_test {
 protected:
  /// With the row of one lock that was released.
  void make_store() { ASSERT_EQ(holdfast({"run", "nightly", "--", "true"}).status, 0); }
  [[nodiscard]] std::string path() const { return file("locks.db"); }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& each : fs::recursive_directory_iterator{scratch_.path()})
      if (each.path().string().find("locks") != std::string::npos) all.insert(each.path().string());
    return all;
  }
};

TEST_F(doctor_on_sqlite, finds_a_file_in_order_and_leaves_nothing_behind) {
  make_store();
  const auto before = names();
  const auto run = holdfast({"doctor", "--store", store(), "--all"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("15 of 15 conditions are kept"),
                    HasSubstr("kept     journal: the journal mode is wal"), Not(HasSubstr("mend:"))));
  EXPECT_EQ(names(), before);
}

TEST_F(doctor_on_sqlite, finds_a_file_in_order_while_clients_have_it_open) {
  const auto holder = start_holder("nightly");
  const auto before = names();
  EXPECT_EQ(condition(store(), "integrity", 0)["result"], "kept");
  EXPECT_EQ(condition(store(), "checkpoint", 0)["result"], "kept");
  EXPECT_EQ(names(), before);
  EXPECT_TRUE(held("nightly"));
}

TEST_F(doctor_on_sqlite, makes_no_file) {
  const auto one = condition("sqlite:" + file("below/locks.db"), "file", 0);
  EXPECT_EQ(one["result"], "kept");
  EXPECT_EQ(one["observed"], "it is not there yet; the first lock makes it");
  is_kept(condition("sqlite:" + file("below/locks.db"), "folder", 0),
          "is not there; the first lock makes it");
  EXPECT_FALSE(fs::exists(file("below")));
  write_file(path(), "");
  EXPECT_THAT(condition(store(), "file", 0)["observed"].get<std::string>(), HasSubstr("it is empty"));
  EXPECT_EQ(fs::file_size(path()), 0U);
}

TEST_F(doctor_on_sqlite, refuses_a_file_of_another_program) {
  connection{path()}.execute("CREATE TABLE theirs (x)");
  const auto foreign = holdfast({"doctor", "--store", store()});
  EXPECT_NE(foreign.status, 0);
  EXPECT_THAT(foreign.err, HasSubstr("is a database of another program"));
  write_file(path(), std::string(4096, 'x'));
  const auto garbage = holdfast({"doctor", "--store", store()});
  EXPECT_NE(garbage.status, 0);
  EXPECT_THAT(garbage.err, HasSubstr("is no SQLite database, or is damaged"));
}

TEST_F(doctor_on_sqlite, finds_hard_links) {
  make_store();
  fs::create_hard_link(path(), file("other.db"));
  const auto one = condition(store(), "names", 2);
  is(one, "broken", "the file has 2 names", "-xdev -samefile");
  EXPECT_THAT(one["remedy"].get<std::string>(), Not(HasSubstr("find '" + scratch_.path().string())))
      << "the other name may be anywhere on the file system";
}

TEST_F(doctor_on_sqlite, finds_files_and_folders_that_everybody_may_write) {
  make_store();
  ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
  is(condition(store(), "permissions", 1), "warning", "everybody may write it");
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0777), 0);
  is(condition(store(), "folder", 1), "warning", "everybody may write it");
  fs::create_directory(file("locks"));
  ASSERT_EQ(::chmod(file("locks").c_str(), 0700), 0);
  is(condition("sqlite:" + file("locks/locks.db"), "folder", 1), "warning",
     "everybody may rename what is in it");
}

TEST_F(doctor_on_sqlite, finds_permissions_of_a_group_that_do_not_go_together) {
  make_store();
  ASSERT_EQ(::chmod(path().c_str(), 0664), 0);
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0750), 0);
  is(condition(store(), "permissions", 1), "warning", "and not its folder");
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0770), 0);
  is(condition(store(), "folder", 1), "warning", "may not write the file");
  ASSERT_EQ(::chmod(path().c_str(), 0664), 0);
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 01770), 0);
  is(condition(store(), "folder", 1), "warning", "it is sticky");
}

TEST_F(doctor_on_sqlite, finds_foreign_files_beside_it) {
  make_store();
  fs::create_symlink(file("elsewhere"), path() + "-wal");
  is(condition(store(), "neighbours", 2), "broken", "-wal is not a plain file",
     "move it aside together with the database");
  EXPECT_EQ(condition(store(), "file", 2)["result"], "unknown") << "nothing foreign is read";
}

TEST_F(doctor_on_sqlite, finds_a_wake_folder_that_is_not_used) {
  make_store();
  fs::remove_all(path() + "-wake");
  fs::create_symlink(scratch_.path(), path() + "-wake");
  is(condition(store(), "notifications", 1), "warning", "is a symbolic link");
}

TEST_F(doctor_on_sqlite, finds_a_reader_that_starves_the_checkpoint) {
  make_store();
  connection reader{path()};
  reader.execute("BEGIN; SELECT * FROM holdfast_locks");
  connection writer{path()};
  writer.execute("PRAGMA busy_timeout = 60000");
  writer.execute("CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(5000000))");
  is(condition(store(), "checkpoint", 1), "warning", "pages wait for a checkpoint, in a -wal of 4 MiB");
  reader.execute("COMMIT");
  writer.execute("PRAGMA wal_checkpoint(PASSIVE)");
  EXPECT_EQ(condition(store(), "checkpoint", 0)["result"], "kept") << "the -wal keeps its size";
}

TEST_F(doctor_on_sqlite, finds_another_journal_mode) {
  make_store();
  connection{path()}.execute("PRAGMA journal_mode = DELETE");
  is(condition(store(), "journal", 1), "warning", "the journal mode is a rollback journal");
}

/// A table that is larger than SQLite's cache, which the next change of it leaves half written.
constexpr auto ballast =
    "PRAGMA cache_size = 10; CREATE TABLE ballast (x);"
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
    "INSERT INTO ballast SELECT zeroblob(4000) FROM n";

TEST_F(doctor_on_sqlite, calls_no_file_damaged_that_another_program_writes_with_a_rollback_journal) {
  make_store();
  connection other{path()};
  other.execute("PRAGMA journal_mode = DELETE");
  other.execute(ballast);
  other.execute("BEGIN IMMEDIATE; CREATE TABLE theirs (x)");
  EXPECT_EQ(condition(store(), "integrity", 1)["result"], "kept") << "nothing is written to the file yet";
  other.execute("UPDATE ballast SET x = randomblob(5000); DELETE FROM ballast");
  ASSERT_TRUE(fs::exists(path() + "-journal"));
  is(condition(store(), "file", 1), "unknown", "another process keeps the file locked", "fuser");
}

TEST_F(doctor_on_sqlite, calls_no_file_damaged_whose_last_change_was_interrupted) {
  make_store();
  connection other{path()};
  other.execute("PRAGMA journal_mode = DELETE");
  other.execute(ballast);
  other.execute("BEGIN IMMEDIATE; UPDATE ballast SET x = randomblob(5000)");
  for (const char* suffix : {"-journal", ""}) fs::copy_file(path() + suffix, file("crashed.db") + suffix);
  const std::string crashed = "sqlite:" + file("crashed.db");
  is(condition(crashed, "file", 1), "unknown", "-journal has an interrupted change of the file");
  EXPECT_TRUE(fs::exists(file("crashed.db-journal")));
}

TEST_F(doctor_on_sqlite, finds_a_process_that_keeps_the_file_locked) {
  make_store();
  connection other{path()};
  other.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; CREATE TABLE ballast (x)");
  is(condition(store(), "file", 1), "unknown", "");
}

TEST_F(doctor_on_sqlite, finds_a_newer_layout) {
  make_store();
  connection{path()}.execute("PRAGMA user_version = 99");
  is(condition(store(), "layout", 2), "broken", "the file has the layout 99, and this Holdfast knows 1");
}

TEST_F(doctor_on_sqlite, finds_damage) {
  make_store();
  connection{path()}.execute(
      "CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(50000)); PRAGMA "
      "wal_checkpoint(TRUNCATE)");
  const int out = ::open(path().c_str(), O_WRONLY | O_CLOEXEC);
  const std::string noise(1024, '\x5a');
  const auto size = static_cast<off_t>(fs::file_size(path()));
  ASSERT_EQ(::pwrite(out, noise.data(), noise.size(), size / 1024 / 2 * 1024), 1024);
  ::close(out);
  const json all = findings(store(), 2);
  const auto of = [&](const std::string& name) {
    return *std::ranges::find_if(all, [&](const json& each) { return each["condition"] == name; });
  };
  is(of("integrity"), "broken", "quick_check says: ");
  is_kept(of("wall clock"), "no token is ahead");
}

TEST_F(doctor_on_sqlite, finds_a_wall_clock_behind_the_tokens) {
  make_store();
  connection{path()}.execute("UPDATE holdfast_locks SET token = token + 3600000000");
  is(condition(store(), "wall clock", 1), "warning", "s ahead of this host's wall clock");
}

TEST_F(doctor_on_sqlite, says_of_memory_how_far_it_reaches) {
  const auto one = condition("memory:", "reach", 0);
  EXPECT_EQ(one["result"], "kept");
  EXPECT_THAT(one["observed"].get<std::string>(), HasSubstr("threads of one process only"));
}

}  // namespace
}  // namespace holdfast::test
