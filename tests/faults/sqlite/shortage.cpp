// SPDX-License-Identifier: Apache-2.0
// Busy files, full disks, no descriptors left.

#include <future>

#include "faults/sqlite/on_a_file.hpp"

namespace holdfast::faults {
namespace {

class shortage : public on_a_file {
 protected:
  /// Locks one name after another, until a refusal; answers with it. Room that the file already has is used
  /// up first. That the limit of a slow disk's attempts fell into one of them is no refusal yet.
  static std::string use_up(actor& other) {
    std::string answer;
    for (int turn = 0; turn < 10'000; ++turn) {
      answer = other.ask("cycle name/" + std::to_string(turn) + " 1 retry=3000");
      if (const auto code = code_in(answer); code && code != errc::unknown_outcome) break;
    }
    return answer;
  }
};

TEST_F(shortage, of_write_turns_for_a_while_delays_and_nothing_more) {
  client locks = open();
  mutex lock{locks, "stock"};
  other_connection intruder{file_};
  intruder.run("BEGIN IMMEDIATE");
  auto waiting = std::async(std::launch::async, [&] { return lock.acquire(); });
  EXPECT_NE(waiting.wait_for(300ms), std::future_status::ready);
  intruder.run("COMMIT");
  EXPECT_TRUE(waiting.get().held());
}

TEST_F(shortage, of_write_turns_for_ever_is_told_with_the_place_and_the_name) {
  client locks = open(hasty());
  other_connection intruder{file_};
  intruder.run("BEGIN IMMEDIATE");
  const auto failed = known_failure_of([&] { mutex{locks, "stock"}.lock(); });
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, testing::AllOf(testing::HasSubstr("stock"), testing::HasSubstr(file_)));
  intruder.run("COMMIT");
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
}

TEST_F(shortage, of_write_turns_at_the_first_opening_is_told) {
  other_connection intruder{file_};
  intruder.run("BEGIN EXCLUSIVE");
  client locks = open(hasty());
  const auto failed = failure_of([&] { mutex{locks, "stock"}.lock(); });
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  intruder.run("ROLLBACK");
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
}

TEST_F(shortage, of_time_for_a_round_trip_grants_nothing_that_is_over_already) {
  client locks = open();
  other_connection intruder{file_};
  intruder.run("BEGIN IMMEDIATE");
  auto waiting = std::async(std::launch::async, [&] {
    return mutex{locks, "stock", lock_options{}.ttl(100ms).renewal(false)}.acquire();
  });
  EXPECT_NE(waiting.wait_for(400ms), std::future_status::ready);  // four ttls in one round trip
  const auto answered = boot_clock::now();
  intruder.run("COMMIT");
  try {
    EXPECT_GT(waiting.get().deadline(), answered) << "counted from a request that was never answered";
  } catch (const error& failed) {
    EXPECT_EQ(failed.code(), errc::lost);
    EXPECT_THAT(failed.what(), testing::HasSubstr("ttl")) << "it does not say what to do";
  }
  // Either way nothing stays behind that would lock out the next one.
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
}

TEST_F(shortage, of_disk_space_is_told_and_ends_with_it) {
  actor other;
  const auto folder = folder_.path().string();
  if (const auto answer = other.ask("disk " + folder + " 512"); answer != "disk") {
    GTEST_SKIP() << "a small disk of our own is not permitted here: " << answer;
  }
  ASSERT_EQ(other.ask("open " + url() + " retry=500"), "open");
  ASSERT_TRUE(other.hold("stock"));
  ASSERT_EQ(other.ask("fill " + folder), "filled");

  const auto answer = use_up(other);
  EXPECT_EQ(code_in(answer), errc::exhausted) << answer;
  EXPECT_EQ(other.ask("report"), "holding") << "a full disk alone ends no lease before its deadline";

  ASSERT_EQ(other.ask("clear " + folder), "cleared");
  EXPECT_EQ(other.ask("cycle another 100"), "cycled");
  EXPECT_EQ(other.ask("release"), "released");
}

TEST_F(shortage, of_disk_space_at_the_first_opening_is_told) {
  actor other;
  const auto folder = folder_.path().string();
  if (const auto answer = other.ask("disk " + folder + " 64"); answer != "disk") {
    GTEST_SKIP() << "a small disk of our own is not permitted here: " << answer;
  }
  ASSERT_EQ(other.ask("fill " + folder), "filled");
  ASSERT_EQ(other.ask("open " + url() + " retry=500"), "open");
  const auto answer = other.ask("cycle stock 1 retry=500");
  EXPECT_EQ(code_in(answer), errc::exhausted) << answer;
  ASSERT_EQ(other.ask("clear " + folder), "cleared");
  EXPECT_EQ(other.ask("cycle stock 1"), "cycled");
}

TEST_F(shortage, of_bytes_that_a_file_may_have_is_told) {
  const auto other = start();
  ASSERT_EQ(other->ask("open " + url() + " retry=3000"), "open");
  ASSERT_EQ(other->ask("limit size 65536"), "limited");
  const auto answer = use_up(*other);
  EXPECT_TRUE(code_in(answer) == errc::exhausted || code_in(answer) == errc::unavailable) << answer;
  EXPECT_EQ(other->ask("limit size"), "limited");
  EXPECT_EQ(other->ask("cycle another 100"), "cycled");
}

TEST_F(shortage, of_descriptors_is_told_and_ends_with_it) {
  make_store();
  actor other;
  std::uint64_t memory = 0;
  int descriptors = 0;
  ASSERT_EQ(std::sscanf(other.ask("usage").c_str(), "usage %lu %d", &memory, &descriptors), 2);
  int refused = 0;
  // The listing itself had one open. With none left, with one, with two …: until it is enough.
  for (int free = 0; free < 40; ++free) {
    ASSERT_EQ(other.ask("limit files " + std::to_string(descriptors - 1 + free)), "limited");
    const auto answer = other.ask("open " + url() + " retry=100");
    if (answer == "open") break;
    ++refused;
    EXPECT_EQ(code_in(answer), errc::exhausted) << free << " left: " << answer;
  }
  EXPECT_GT(refused, 3);
  EXPECT_TRUE(other.hold("stock"));
  ASSERT_EQ(other.ask("limit files"), "limited");
  EXPECT_EQ(other.ask("release"), "released");
}

TEST_F(shortage, of_descriptors_does_not_disturb_a_client_that_is_open) {
  const auto other = start();
  ASSERT_TRUE(other->hold("stock"));
  ASSERT_EQ(other->ask("limit files 0"), "limited");
  EXPECT_EQ(other->ask("cycle another 100"), "cycled");
  EXPECT_EQ(other->ask("report"), "holding");
  EXPECT_EQ(other->ask("release"), "released");
}

}  // namespace
}  // namespace holdfast::faults
