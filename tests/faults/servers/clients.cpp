// SPDX-License-Identifier: Apache-2.0
// Clients of a database that are stopped and killed at any moment, as holders and as waiters.

#include <csignal>
#include <random>

#include "faults/servers/servers.hpp"
#include "support/amount.hpp"
#include "support/witness.hpp"

namespace holdfast::faults {
namespace {

class database_clients : public on_each_database {
 protected:
  /// Works at "stock" until it ends, and with it all that work. Of several none may stand still in the midst
  /// of it for longer than its ttl, though others use the machine: it would find the next one there.
  [[nodiscard]] std::unique_ptr<actor> worker(const std::string& witness, int ttl_ms = 4000) const {
    auto other = start(url());
    other->tell("contend stock " + witness + " 1000000 ttl=" + std::to_string(ttl_ms));
    return other;
  }
  static bool advances(const test::witness& witness, std::int64_t by) {
    const auto wanted = witness.count() + by;
    return comes_true([&] { return witness.count() >= wanted; });
  }

  test::scratch_folder folder_;
  const std::string place_ = folder_.file("witness");
  test::witness witness_{place_};
};

TEST_P(database_clients, stopped_for_longer_than_the_ttl_know_of_their_loss_when_they_wake) {
  client locks{url()};
  const auto sleeper = start(url());
  const auto first = sleeper->hold("stock ttl=300");
  sleeper->send(SIGSTOP);
  const auto next = mutex{locks, "stock"}.acquire();
  EXPECT_GT(next.token(), first);
  sleeper->tell("report");  // what it does first when it wakes
  sleeper->send(SIGCONT);
  EXPECT_EQ(hear_answer(*sleeper), "lost");
  EXPECT_TRUE(next.held());
}

// None of them keeps a row locked: what it has sent is carried out without it.
TEST_P(database_clients, stopped_at_any_moment_keep_nobody_waiting_for_longer_than_their_ttl) {
  std::mt19937 random{11};
  const test::stall_meter meter;
  const auto sleeper = worker(place_, 300);
  client locks{url()};
  mutex lock{locks, "stock"};
  const int pauses = test::amount(10, 40);
  for (int pause = 0; pause < pauses; ++pause) {
    ASSERT_TRUE(advances(witness_, 1));
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 1000});  // a few statements at most
    sleeper->send(SIGSTOP);
    const auto before = boot_clock::now();
    auto held = lock.try_acquire_for(60s);
    ASSERT_TRUE(held);
    // A row that a sleeper locks is locked until it wakes.
    EXPECT_LT(boot_clock::now() - before, meter.stretched(300ms + 20s, before)) << "in pause " << pause;
    EXPECT_EQ(server_->idle_transactions(), 0);
    EXPECT_FALSE(held->release());
    sleeper->send(SIGCONT);
  }
  EXPECT_EQ(witness_.overlaps(), 0);
}

TEST_P(database_clients, killed_at_any_moment_stop_nobody_else) {
  std::vector<std::unique_ptr<actor>> clients;
  for (int each = 0; each < 4; ++each) clients.push_back(worker(place_));
  std::mt19937 random{42};
  const int kills = test::amount(4, 25);
  for (int kill = 0; kill < kills; ++kill) {
    ASSERT_TRUE(advances(witness_, 1 + static_cast<std::int64_t>(random() % 20)))
        << "all stood still after kill " << kill;
    auto& victim = clients[random() % clients.size()];
    victim->kill();
    victim = worker(place_);
  }
  EXPECT_TRUE(advances(witness_, 50));
  clients.clear();
  EXPECT_EQ(witness_.overlaps(), 0);
  // A visit that was cut off between its two counts is in the one and not in the other.
  EXPECT_GE(witness_.fragile_count(), witness_.count());
  EXPECT_LE(witness_.fragile_count(), witness_.count() + kills + 4);
  expect_free();
}

// The witness would find a late holder in their midst; a table that checks tokens has to be right in any
// case.
TEST_P(database_clients, stopped_again_and_again_write_nothing_stale_where_tokens_are_checked) {
  server_->execute("CREATE TABLE goods (fence BIGINT)");
  server_->execute("INSERT INTO goods VALUES (0)");
  const auto is_written = [&](fencing_token by) {
    const auto token = std::to_string(by.value());
    server_->execute("UPDATE goods SET fence = " + token + " WHERE fence <= " + token);
    return server_->number("SELECT count(*) FROM goods WHERE fence = " + token) == 1;
  };
  std::vector<std::unique_ptr<actor>> sleepers;
  for (int each = 0; each < 2; ++each) sleepers.push_back(start(url()));
  client locks{url()};
  for (int turn = 0; turn < 12; ++turn) {
    auto& sleeper = *sleepers[turn % sleepers.size()];
    sleeper.tell("hold stock ttl=200");
    const auto stale = hear_token(sleeper);  // what it lost before, it may say only now
    sleeper.send(SIGSTOP);
    auto next = mutex{locks, "stock"}.acquire();
    EXPECT_TRUE(is_written(next.token()));
    sleeper.send(SIGCONT);
    EXPECT_FALSE(is_written(stale)) << "it has written what was overtaken";
    EXPECT_FALSE(next.release());
    sleeper.tell("drop");
    EXPECT_EQ(hear_answer(sleeper), "dropped");
  }
}

HOLDFAST_ON_EACH_SERVER(database_clients, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
