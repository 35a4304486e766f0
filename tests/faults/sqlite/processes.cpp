// SPDX-License-Identifier: Apache-2.0
// Processes stopped and killed at any moment, as holders and as waiters.

#include <csignal>
#include <random>
#include <thread>

#include "faults/sqlite/on_a_file.hpp"
#include "support/amount.hpp"
#include "support/witness.hpp"

namespace holdfast::faults {
namespace {

class processes : public on_a_file {
 protected:
  boot_clock::time_point claimed_in(const std::string& answer) {
    long long nanoseconds = 0;
    EXPECT_EQ(std::sscanf(answer.c_str(), "claimed %lld", &nanoseconds), 1) << answer;
    return boot_clock::time_point{std::chrono::nanoseconds{nanoseconds}};
  }
};

TEST_F(processes, stopped_for_longer_than_the_ttl_know_of_their_loss_when_they_wake) {
  client locks = open();
  const auto sleeper = start();
  const auto first = sleeper->hold("stock ttl=300");
  sleeper->send(SIGSTOP);
  const auto next = mutex{locks, "stock"}.acquire();
  EXPECT_GT(next.token(), first);
  sleeper->tell("report");  // what it does first when it wakes
  sleeper->send(SIGCONT);
  EXPECT_EQ(hear_answer(*sleeper), "lost");
  EXPECT_TRUE(next.held());
}

TEST_F(processes, stopped_while_they_claim_to_hold_claim_it_no_more_when_they_wake) {
  client locks = open();
  const auto sleeper = start();
  mutex lock{locks, "stock"};
  const auto is_renewed = [&] {
    sleeper->tell("hold stock ttl=2000");
    EXPECT_TRUE(hear_token(*sleeper));
    sleeper->tell("claim");  // asks held() as fast as it can
    if (!lock.try_lock_for(2500ms)) return true;
    lock.unlock();
    claimed_in(hear_answer(*sleeper));
    sleeper->tell("drop");
    hear_answer(*sleeper);
    return false;
  };
  // A machine that stalls for a second and a half may let a lease of two end.
  ASSERT_TRUE(is_renewed() || is_renewed() || is_renewed()) << "it is not renewed while it runs";
  sleeper->send(SIGSTOP);
  const auto next = lock.acquire();
  const auto granted = boot_clock::now();
  sleeper->send(SIGCONT);
  EXPECT_LT(claimed_in(hear_answer(*sleeper)), granted);
  sleeper->tell("release");
  EXPECT_EQ(code_in(hear_answer(*sleeper)), errc::lost);
  EXPECT_TRUE(next.held());
}

TEST_F(processes, stopped_while_they_wait_are_passed_over_and_are_told) {
  client locks = open();
  mutex lock{locks, "stock"};
  auto held = lock.acquire();
  const auto sleeper = start();
  sleeper->tell("hold stock ttl=2000");
  expect_waiter(locks);
  sleeper->send(SIGSTOP);
  EXPECT_FALSE(held.release());
  // The sleeper may be handed the lock, and then sleeps it away; either way this one gets it.
  auto next = lock.acquire();
  const auto second = next.token();
  sleeper->send(SIGCONT);
  EXPECT_FALSE(next.release());
  const std::string answer = hear_answer(*sleeper);
  EXPECT_TRUE(token_in(answer) > second || code_in(answer) == errc::lost) << answer;
  EXPECT_EQ(sleeper->ask("report"), token_in(answer) ? "holding" : "lost");
  sleeper->ask("drop");
  EXPECT_GT(sleeper->hold("stock"), second);
}

TEST_F(processes, stopped_and_woken_in_time_lose_nothing) {
  const auto sleeper = start();
  sleeper->hold("stock ttl=60000");
  sleeper->send(SIGSTOP);
  sleeper->send(SIGCONT);
  EXPECT_EQ(sleeper->ask("report"), "holding");
  EXPECT_EQ(sleeper->ask("release"), "released");
}

// A crash at any moment leaves a usable file, and everyone else goes on.
TEST_F(processes, killed_at_any_moment_stop_nobody_else) {
  const std::string place = folder_.file("witness");
  test::witness witness{place};
  const auto work = [&] {
    auto worker = start();
    worker->tell("contend stock " + place + " 1000000 ttl=4000");
    return worker;
  };
  std::vector<std::unique_ptr<actor>> clients;
  for (int each = 0; each < 4; ++each) clients.push_back(work());

  std::mt19937 random{42};
  const int kills = test::amount(4, 30);
  const auto advances = [&](std::int64_t by) {
    const auto wanted = witness.count() + by;
    return comes_true([&] { return witness.count() >= wanted; });
  };
  for (int kill = 0; kill < kills; ++kill) {
    ASSERT_TRUE(advances(1 + static_cast<std::int64_t>(random() % 20)))
        << "all stood still after kill " << kill;
    auto& victim = clients[random() % clients.size()];
    victim->kill();
    victim = work();
  }
  EXPECT_TRUE(advances(50));
  clients.clear();

  EXPECT_EQ(witness.overlaps(), 0);
  // A visit that was cut off between its two counts is in the one and not in the other.
  EXPECT_GE(witness.fragile_count(), witness.count());
  EXPECT_LE(witness.fragile_count(), witness.count() + kills + 4);

  client locks = open();
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
  locks.close();
  EXPECT_EQ(other_connection{file_}.value("pragma integrity_check"), "ok");
}

TEST_F(processes, killed_while_they_open_a_new_file_leave_it_usable) {
  const auto begun = boot_clock::now();
  start();
  const auto as_a_rule = boot_clock::now() - begun;
  std::mt19937 random{7};
  for (int turn = 0; turn < 15; ++turn) {
    file_ = folder_.file("locks-" + std::to_string(turn) + ".db");
    actor first;
    first.tell("open " + url());
    // Some before anything is on the disk, some in the middle, some after.
    std::this_thread::sleep_for(as_a_rule * (random() % 120) / 100);
    first.kill();
    client locks = open();
    EXPECT_TRUE(mutex(locks, "stock").acquire().held());
    locks.close();
    EXPECT_EQ(other_connection{file_}.value("pragma integrity_check"), "ok");
  }
}

TEST_F(processes, opening_a_new_file_at_the_same_moment_share_it) {
  for (int turn = 0; turn < 5; ++turn) {
    file_ = folder_.file("locks-" + std::to_string(turn) + ".db");
    const std::string place = folder_.file("witness-" + std::to_string(turn));
    std::vector<std::unique_ptr<actor>> all;
    for (int each = 0; each < 4; ++each) all.push_back(std::make_unique<actor>());
    for (const auto& one : all) {
      one->tell("open " + url());
      one->tell("contend stock " + place + " 10");
    }
    for (const auto& one : all) {
      EXPECT_EQ(one->hear(), "open");
      EXPECT_EQ(one->hear(), "contended");
    }
    const test::witness witness{place};
    EXPECT_EQ(witness.overlaps(), 0);
    EXPECT_EQ(witness.fragile_count(), 40);
  }
}

}  // namespace
}  // namespace holdfast::faults
