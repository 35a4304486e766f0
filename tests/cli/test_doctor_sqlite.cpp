// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor` on files: each test breaks one condition, and sees it named.

#include <filesystem>
#include <optional>
#include <set>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/doctor.hpp"
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
  void make_store() { ASSERT_EQ(holdfast({"run", "nightly", "--store", store(), "--", "true"}).status, 0); }
  [[nodiscard]] std::string file(std::string_view name) const { return place_.file(name); }
  [[nodiscard]] std::string store() const { return "sqlite:" + path(); }
  [[nodiscard]] std::string path() const { return file("locks.db"); }
  /// What the command finds in a mount namespace of its own, after a command of a shell there; nothing: such
  /// a namespace is not permitted here. \param place `$0` of that command.
  std::optional<json> findings_behind(const std::string& shell, const std::string& place,
                                      const std::string& url) {
    const auto run_there = [&](strings arguments) {
      strings all{"unshare", "--map-root-user", "--mount", "sh", "-c", shell + " && exec \"$@\"", place};
      all.insert(all.end(), arguments.begin(), arguments.end());
      return process{scratch_, all, {environment()}}.wait();
    };
    if (run_there({"true"}).status != 0) return std::nullopt;
    // Without /proc the loader does not know in which folder the command lies.
    const auto run = run_there({"env", "LD_LIBRARY_PATH=" HOLDFAST_LIBRARY_FOLDER, HOLDFAST_COMMAND, "doctor",
                                "--json", "--store", url});
    const auto lines = parse_lines(run.out);
    EXPECT_EQ(lines.size(), 1U) << run.out << run.err;
    return lines.empty() ? json::array() : lines.front()["findings"];
  }
  static json condition_in(const json& all, const std::string& name) {
    for (const auto& each : all)
      if (each["condition"] == name) return each;
    return json{};
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& each : fs::recursive_directory_iterator{place_.path()})
      if (each.path().string().find("locks") != std::string::npos) all.insert(each.path().string());
    return all;
  }

  scratch_folder place_{"/dev/shm"};  // where nothing is said of cleaners
};

TEST_F(doctor_on_sqlite, says_of_a_file_in_each_state_what_the_golden_file_has) {
  doctor_record said{"sqlite"};
  const scratch_folder temporary{"/tmp"};
  for (const char* each : {"locks.db", "new.db", "locks/locks.db", "below/locks.db"})
    said.replace(file(each), "FILE");
  said.replace(temporary.file("locks.db"), "FILE");
  said.replace(place_.path().string(), "FOLDER");
  said.replace(temporary.path().string(), "TEMPORARY");
  said.replace_all(R"((uid|gid) \d+)", "$1 N");
  said.replace_all(R"((chown|chgrp) \d+)", "$1 N");
  said.replace_all(R"(token is 3\d\d\d s)", "token is 3600 s");
  const auto chmod = [](const std::string& what_for, mode_t mode) {
    ASSERT_EQ(::chmod(what_for.c_str(), mode), 0);
  };
  const auto folder = place_.path().string();
  make_store();
  look(said, "all in order", store());
  look(said, "no file yet", "sqlite:" + file("new.db"));
  write_file(file("new.db"), "");
  look(said, "an empty file", "sqlite:" + file("new.db"));
  look(said, "no folder yet", "sqlite:" + file("below/locks.db"));
  EXPECT_FALSE(fs::exists(file("below")));
  chmod(path(), 0644);
  look(said, "others may read it, but do not reach it", store());
  chmod(folder, 0755);
  look(said, "others may read it", store());
  chmod(path(), 0640);
  look(said, "its group may read it", store());
  chmod(path(), 0666);
  look(said, "everybody may write it", store());
  chmod(path(), 0664);
  chmod(folder, 0750);
  look(said, "its group may write it, and not its folder", store());
  chmod(path(), 0644);
  chmod(folder, 0770);
  look(said, "its group may write its folder, and not the file", store());
  chmod(path(), 0664);
  chmod(folder, 01770);
  look(said, "its folder is sticky", store());
  chmod(path(), 0600);
  chmod(folder, 0777);
  look(said, "everybody may write its folder", store());
  fs::create_directory(file("locks"));
  chmod(file("locks"), 0700);
  look(said, "everybody may rename its folder", "sqlite:" + file("locks/locks.db"));
  chmod(folder, 0770);
  look(said, "its group may rename its folder", "sqlite:" + file("locks/locks.db"));
  chmod(folder, 0700);
  look(said, "a folder for temporary files", "sqlite:" + temporary.file("locks.db"));
  fs::create_hard_link(path(), file("other.db"));
  look(said, "two names", store());
  fs::remove(file("other.db"));
  fs::create_symlink(file("elsewhere"), path() + "-wal");
  look(said, "a -wal that is no file", store());
  fs::remove(path() + "-wal");
  fs::create_symlink(file("elsewhere"), path() + "-shm");
  look(said, "a -shm that is no file", store());
  fs::remove(path() + "-shm");
  connection{path()}.execute("UPDATE holdfast_locks SET token = token + 3600000000");
  look(said, "a token of the future", store());
  connection{path()}.execute("UPDATE holdfast_locks SET token = token - 3600000000");
  connection{path()}.execute("PRAGMA journal_mode = DELETE");
  look(said, "a rollback journal", store());
  connection{path()}.execute("ALTER TABLE holdfast_locks_sweeps RENAME TO theirs");
  look(said, "no tables of that name", store());
  connection{path()}.execute("PRAGMA user_version = 99");
  look(said, "a newer layout", store());
  said.compare();
}

TEST_F(doctor_on_sqlite, finds_a_file_in_order_and_leaves_nothing_behind) {
  make_store();
  const auto before = names();
  const auto run = holdfast({"doctor", "--store", store(), "--all"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("all 10 checks passed"), HasSubstr("kept     journal: the journal mode is wal"),
            HasSubstr("kept     file: it can be read"), Not(HasSubstr("vm clock")), Not(HasSubstr("mend:"))));
  EXPECT_EQ(names(), before);
}

TEST(doctor_status, can_be_in_order_where_few_rights_leave_something_unknown) {
  using grade = finding::grade;
  EXPECT_EQ(cli::status_of(grade::unknown, false), 1);
  EXPECT_EQ(cli::status_of(grade::unknown, true), 0);
  EXPECT_EQ(cli::status_of(grade::warning, true), 1);
  EXPECT_EQ(cli::status_of(grade::broken, true), 2);
}

TEST_F(doctor_on_sqlite, finds_a_file_in_order_while_clients_have_it_open) {
  const auto holder = start_holder("nightly", {"--store", store()});
  const auto before = names();
  EXPECT_EQ(condition(store(), "wall clock", 0)["result"], "kept");
  EXPECT_EQ(names(), before);
  const auto shown = holdfast({"show", "nightly", "--json", "--store", store()});
  EXPECT_FALSE(parse_lines(shown.out).at(0)["holders"].empty());
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

TEST_F(doctor_on_sqlite, finds_a_file_that_is_mounted_without_its_folder) {
  make_store();
  const auto found = findings_behind("mount --bind \"$0\" \"$0\"", path(), store());
  if (!found) GTEST_SKIP() << "a mount namespace is not permitted here";
  is(condition_in(*found, "place"), "broken", "is a mount point itself");
}

TEST_F(doctor_on_sqlite, finds_a_lease_clock_whose_offset_it_cannot_read) {
  make_store();
  const auto found = findings_behind("mount -t tmpfs none /proc", path(), store());
  if (!found) GTEST_SKIP() << "a mount namespace is not permitted here";
  is(condition_in(*found, "lease clock"), "warning", "/proc is not mounted", "mount -t proc");
}

TEST_F(doctor_on_sqlite, finds_a_user_who_may_only_read) {
  const auto folder = file("shared");
  const auto url = "sqlite:" + folder + "/locks.db";
  fs::create_directory(folder);
  ASSERT_EQ(holdfast({"run", "nightly", "--store", url, "--", "true"}).status, 0);
  ASSERT_EQ(::chmod((folder + "/locks.db").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  ASSERT_EQ(::chmod(place_.path().c_str(), 0755), 0);
  strings command{HOLDFAST_COMMAND, "doctor", "--json", "--store", url};
  if (::geteuid() == 0)  // who may write all files
    command.insert(command.begin(), {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
  const auto run = process{scratch_, command, {environment()}}.wait();
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(run.status, 2) << run.out << run.err;
  const auto lines = parse_lines(run.out);
  ASSERT_EQ(lines.size(), 1U);
  is(condition_in(lines[0]["findings"], "place"), "broken", "cannot be written by this user");
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
  EXPECT_EQ(condition(store(), "file", 1)["result"], "kept") << "nothing is written to the file yet";
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

TEST_F(doctor_on_sqlite, says_of_memory_how_far_it_reaches) {
  const auto one = condition("memory:", "reach", 0);
  EXPECT_EQ(one["result"], "kept");
  EXPECT_THAT(one["observed"].get<std::string>(), HasSubstr("threads of one process only"));
}

}  // namespace
}  // namespace holdfast::test
