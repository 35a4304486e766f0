// SPDX-License-Identifier: Apache-2.0
// Files that are damaged, or somebody else's, or taken away.

#include <future>
#include <random>
#include <system_error>
#include <thread>

#include "faults/sqlite/on_a_file.hpp"

namespace holdfast::faults {
namespace {

class files : public on_a_file {
 protected:
  /// A store that has been used, at rest.
  void make_used_store() {
    client locks = open();
    for (int each = 0; each < 200; ++each) {
      mutex lock{locks, "name/" + std::to_string(each)};
      const std::scoped_lock held{lock};
    }
  }
  void expect_untouched(const std::string& bytes) const {
    EXPECT_TRUE(bytes_of(file_) == bytes) << "the file was written to";
    std::vector<std::string> entries;
    for (const auto& entry : std::filesystem::directory_iterator{folder_.path()}) {
      entries.push_back(entry.path().filename());
    }
    EXPECT_THAT(entries, testing::ElementsAre("locks.db"));
  }
};

TEST_F(files, that_are_empty_become_a_store) {
  write_bytes(file_, "");
  client locks = open();
  EXPECT_TRUE(mutex(locks, "stock").acquire().held());
}

TEST_F(files, of_no_database_are_left_alone) {
  std::string garbage(50'000, '\0');
  std::mt19937 random{1};
  for (char& byte : garbage) byte = static_cast<char>(random());
  for (const std::string& bytes : {garbage, std::string{"#!/bin/sh\necho hello\n"}}) {
    write_bytes(file_, bytes);
    const auto failed = failure_of([&] { open(patient()); });
    EXPECT_TRUE(failed.code == errc::foreign_store || failed.code == errc::corrupt_store) << failed.text;
    EXPECT_THAT(failed.text, testing::HasSubstr(file_));
    expect_untouched(bytes);
  }
}

TEST_F(files, of_another_program_are_left_alone) {
  const std::vector<std::string> schemas{
      "create table orders(id integer primary key, sku text); insert into orders(sku) values('sku-42')",
      "create table holdfast_locks(name text, price real); insert into holdfast_locks values('stock', 1.5)",
      "pragma application_id = 252006673; create table t(a)",
      "pragma user_version = 7; create view holdfast_locks as select 1 as name",
  };
  for (const auto& schema : schemas) {
    std::filesystem::remove(file_);
    other_connection{file_}.run(schema);
    const auto bytes = bytes_of(file_);
    const auto failed = failure_of([&] { open(patient()); });
    EXPECT_EQ(failed.code, errc::foreign_store) << schema << ": " << failed.text;
    EXPECT_THAT(failed.text, testing::HasSubstr(file_));
    expect_untouched(bytes);
  }
}

TEST_F(files, that_are_cut_off_are_reported) {
  make_used_store();
  const auto whole = bytes_of(file_);
  for (const std::size_t length : {whole.size() / 2, std::size_t{5000}, std::size_t{600}}) {
    write_bytes(file_, whole.substr(0, length));
    const auto failed = failure_of([&] {
      client locks = open(patient());
      for (int each = 0; each < 200; ++each) {
        static_cast<void>(mutex(locks, "name/" + std::to_string(each)).try_acquire());
      }
    });
    EXPECT_TRUE(failed.code == errc::corrupt_store || failed.code == errc::foreign_store) << failed.text;
  }
}

// Any page, overwritten: the call that meets it says so, or does not meet it; nothing crashes or hangs.
TEST_F(files, with_any_page_damaged_are_reported_where_it_matters) {
  make_used_store();
  const auto whole = bytes_of(file_);
  constexpr std::size_t page = 4096;
  ASSERT_GT(whole.size(), 2 * page);
  int reported = 0;
  for (std::size_t at = 0; at < whole.size(); at += page) {
    auto damaged = whole;
    std::mt19937 random{static_cast<unsigned>(at)};
    for (std::size_t i = at; i < std::min(at + page, whole.size()); ++i)
      damaged[i] = static_cast<char>(random());
    write_bytes(file_, damaged);
    const auto failed = failure_of([&] {
      client locks = open(patient());
      static_cast<void>(locks.list(true));
      static_cast<void>(mutex(locks, "name/7").try_acquire());
    });
    if (!failed.code) continue;
    ++reported;
    EXPECT_TRUE(failed.code == errc::corrupt_store || failed.code == errc::foreign_store) << failed.text;
  }
  EXPECT_GT(reported, 0);
}

TEST_F(files, that_are_deleted_under_a_holder_end_its_lease) {
  client locks = open(patient().ttl(600ms));
  auto held = mutex{locks, "stock"}.acquire();
  std::promise<std::error_code> loss;
  held.on_lost([&](std::error_code reason) { loss.set_value(reason); });
  for (const auto* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + suffix);

  auto reason = loss.get_future();
  ASSERT_EQ(reason.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(reason.get(), errc::lost);
  EXPECT_FALSE(held.held());
  EXPECT_TRUE(held.release());
}

TEST_F(files, that_are_replaced_under_a_holder_end_its_lease) {
  client locks = open(patient().ttl(600ms));
  auto held = mutex{locks, "stock"}.acquire();
  std::promise<std::error_code> loss;
  held.on_lost([&](std::error_code reason) { loss.set_value(reason); });

  const auto place = file_;
  file_ = folder_.file("new.db");
  make_store();
  for (const auto* suffix : {"-wal", "-shm"}) std::filesystem::remove(place + suffix);
  std::filesystem::rename(file_, place);
  file_ = place;

  auto reason = loss.get_future();
  ASSERT_EQ(reason.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(reason.get(), errc::lost);
}

// Whoever comes after a deletion meets whoever else comes after it: never two stores at one place for long.
TEST_F(files, that_are_deleted_part_no_two_clients_who_ask_afterwards) {
  client before = open(patient());
  {
    const auto used = mutex{before, "stock"}.acquire();
  }
  for (const auto* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + suffix);
  client after = open(patient());
  const auto held = mutex{after, "stock"}.acquire();
  std::optional<lease> second;
  const auto failed = failure_of([&] { second = mutex{before, "stock"}.try_acquire(); });
  EXPECT_FALSE(second) << "two hold the name, in two files; " << failed.text;
}

// A cleaner of old files takes the -shm: its times stay while it is used. Others then make new ones, and find
// what is in the file and in a -wal that is still there. Another client of the same process must not keep the
// old ones in use.
TEST_F(files, whose_neighbours_are_deleted_part_no_two_clients_who_ask_afterwards) {
  for (const std::vector<const char*>& deleted : {std::vector{"-shm"}, std::vector{"-wal", "-shm"}}) {
    for (const auto* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + suffix);
    client before = open(hasty().ttl(1h));
    const client idle = open();
    auto held = mutex{before, "stock"}.acquire();
    EXPECT_EQ(idle.list().size(), 1U);
    for (const auto* suffix : deleted) std::filesystem::remove(file_ + suffix);
    const auto other = start();
    const auto answer = other->ask("hold stock within=0");
    const bool has_claims = deleted.size() == 1;  // in the -wal
    EXPECT_EQ(answer.starts_with("held "), !has_claims) << answer;
    EXPECT_EQ(held.renew(), has_claims ? renewal::renewed : renewal::lost);
    EXPECT_EQ(held.held(), has_claims);
    std::optional<lease> second;
    const auto failed = failure_of([&] { second = mutex{before, "stock"}.try_acquire(); });
    EXPECT_FALSE(failed.code) << failed.text;
    EXPECT_FALSE(second) << "two hold the name";
    EXPECT_EQ(idle.inspect("stock")->holders.size(), 1U);
    EXPECT_EQ(other_connection{file_}.value("PRAGMA integrity_check"), "ok");
  }
}

TEST_F(files, whose_log_is_deleted_under_a_holder_fail_or_go_on) {
  client locks = open(hasty().ttl(1h));
  auto held = mutex{locks, "stock"}.acquire();
  std::filesystem::remove(file_ + "-wal");
  // It alone had it open, and so it closes it as the last one does.
  EXPECT_EQ(renew(held), renewal::renewed);
  const auto other = start();
  EXPECT_EQ(other->ask("hold stock within=0"), "refused");
}

// Whoever may write the file may put a trigger there, which would run in every client.
TEST_F(files, with_triggers_are_used_without_them) {
  const std::vector<std::string> bodies{"SELECT RAISE(IGNORE)", "SELECT RAISE(FAIL, 'no')",
                                        "SELECT count(*) FROM (WITH RECURSIVE endless(x) AS (SELECT 1 UNION "
                                        "ALL SELECT x + 1 FROM endless) SELECT x "
                                        "FROM endless)"};
  for (const std::string& body : bodies) {
    for (const auto* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + suffix);
    make_store();
    {
      other_connection attacker{file_};
      for (const std::string table : {"holdfast_locks", "holdfast_locks_claims"}) {
        for (const std::string event : {"INSERT", "UPDATE", "DELETE"}) {
          attacker.run("CREATE TRIGGER " + event + '_' + table + " BEFORE " + event + " ON " + table +
                       " BEGIN " + body + "; END");
        }
      }
    }
    client locks = open();
    auto held = mutex{locks, "stock"}.acquire();
    EXPECT_EQ(held.renew(), renewal::renewed) << body;
    EXPECT_FALSE(mutex(locks, "stock").try_lock()) << body;
    EXPECT_FALSE(held.release()) << body;
  }
}

TEST_F(files, with_a_view_in_place_of_a_table_are_reported) {
  make_store();
  other_connection{file_}.run(
      "DROP TABLE holdfast_locks_claims; CREATE VIEW holdfast_locks_claims AS WITH RECURSIVE endless(name, "
      "token, "
      "owner, client, weight, ttl, expires, since, metadata) AS (SELECT 'stock', 1, x'00', x'00', 1, 1, 1, "
      "1, '{}' "
      "UNION ALL SELECT name, token + 1, owner, client, weight, ttl, expires, since, metadata FROM endless) "
      "SELECT * FROM endless");
  const auto failed = failure_of([&] {
    client locks = open(patient());
    mutex{locks, "stock"}.lock();
  });
  EXPECT_TRUE(failed.code) << "an endless view";
  EXPECT_THAT(failed.text, testing::HasSubstr(file_));
}

TEST_F(files, that_leave_out_a_row_are_reported) {
  make_store();
  other_connection{file_}.run(
      "DROP TABLE holdfast_locks; CREATE TABLE holdfast_locks (name TEXT NOT NULL PRIMARY KEY, token BIGINT, "
      "granted "
      "BIGINT, capacity BIGINT, trap TEXT NOT NULL ON CONFLICT IGNORE) WITHOUT ROWID");
  client locks = open(patient());
  const auto failed = failure_of([&] { mutex{locks, "stock"}.lock(); });
  EXPECT_EQ(failed.code, errc::corrupt_store) << failed.text;
  EXPECT_THAT(failed.text, testing::HasSubstr(file_));
  other_connection{file_}.run(
      "DROP TABLE holdfast_locks; CREATE TABLE holdfast_locks (name TEXT NOT NULL PRIMARY KEY, token BIGINT "
      "NOT NULL, "
      "granted BIGINT NOT NULL, capacity BIGINT NOT NULL) WITHOUT ROWID");
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s)) << "it is in order again";
}

// What is opened is not what others find: nobody would notice that later.
TEST_F(files, that_are_replaced_while_they_are_opened_are_opened_anew) {
  const std::string place = file_;
  make_store();
  file_ = folder_.file("new.db");
  {
    client locks = open();
    mutex{locks, "new"}.lock();
  }
  std::optional<other_connection> old{place};
  // In this mode nobody else reads, so that an opening has to wait for the end of the connection.
  old->run("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT");
  const auto descriptors = [&] {
    int count = 0;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      std::error_code gone;
      if (std::filesystem::read_symlink(each.path(), gone) == place) ++count;
    }
    return count;
  };
  const int before = descriptors();
  auto opening = std::async(std::launch::async, [&] { return client{"sqlite:" + place}; });
  await([&] { return descriptors() > before; }, "it is not opened");
  std::filesystem::rename(file_, place);
  old.reset();
  const client locks = opening.get();
  const auto all = locks.list(true);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "new");
}

TEST_F(files, whose_folder_is_gone_fail_and_do_not_hang) {
  const auto inner = folder_.file("inner");
  std::filesystem::create_directory(inner);
  file_ = inner + "/locks.db";
  client locks = open(patient());
  {
    const auto used = mutex{locks, "stock"}.acquire();
  }
  // The client may remove the log beside the file at the same moment.
  EXPECT_TRUE(comes_true([&] {
    std::error_code raced;
    std::filesystem::remove_all(inner, raced);
    return !raced;
  }));
  const auto failed = failure_of([&] { static_cast<void>(mutex(locks, "stock", hasty()).acquire()); });
  EXPECT_TRUE(failed.code) << "it holds in a file that nobody else can find";
}

}  // namespace
}  // namespace holdfast::faults
