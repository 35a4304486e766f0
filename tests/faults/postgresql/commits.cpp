// SPDX-License-Identifier: Apache-2.0
// What a commit is waited for, and what not.

#include <atomic>
#include <csignal>
#include <future>

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

/// Commits that are to be on the disk wait for a standby, too, which never comes.
class postgresql_commits : public on_postgresql {
 protected:
  void hold_up() {
    ASSERT_EQ(server_.ask("CREATE TABLE probe (number int)"), "");
    ASSERT_EQ(server_.ask("ALTER SYSTEM SET synchronous_standby_names = 'nobody'"), "");
    server_.number("SELECT pg_reload_conf()::int");
    // The server takes that in when it gets to it: one commit after the other, until one waits.
    probe_ = std::async(std::launch::async, [this] {
      while (!over_) EXPECT_EQ(console_->ask("INSERT INTO probe VALUES (1)"), "");
    });
    await([this] { return waiting_as("postgres") == 1; }, "commits do not wait");
  }
  void let_go() {
    over_ = true;
    ASSERT_EQ(server_.ask("ALTER SYSTEM RESET synchronous_standby_names"), "");
    server_.number("SELECT pg_reload_conf()::int");
    probe_.get();
  }
  /// How many of that user's sessions wait for a standby.
  std::int64_t waiting_as(const std::string& user) {
    return server_.number(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = '" + user + "'");
  }

 private:
  decltype(server_.console("postgres")) console_ = server_.console("postgres");
  std::atomic<bool> over_ = false;
  std::future<void> probe_;
};

TEST_F(postgresql_commits, of_a_release_that_serves_somebody_alone_are_waited_for) {
  client locks{server_.url()};
  auto free = mutex{locks, "free"}.acquire();
  auto held = mutex{locks, "stock"}.acquire();
  const auto next = start(server_.url());
  next->tell("hold stock");
  expect_waiter(locks);
  next->send(SIGSTOP);  // its looks would be waited for, too

  hold_up();
  EXPECT_FALSE(free.release());
  const auto held_token = held.token();
  auto handed_on = std::async(std::launch::async, [&] { return held.release(); });
  await([this] { return waiting_as("holdfast") == 1; }, "the hand-over is not waited for");
  let_go();
  EXPECT_FALSE(handed_on.get());
  next->send(SIGCONT);
  EXPECT_GT(hear_token(*next), held_token);
}

TEST_F(postgresql_commits, of_a_refused_try_are_not_waited_for) {
  client locks{server_.url("?answer_timeout=60s")};
  client others{server_.url("?answer_timeout=1h")};
  auto held = mutex{locks, "stock", lock_options{}.ttl(1h)}.acquire();
  EXPECT_FALSE(mutex(others, "stock").try_lock());
  EXPECT_TRUE(others.inspect("stock"));  // behind the sweep that comes with the first call, and is waited for

  hold_up();
  auto refused = std::async(std::launch::async, [&] { return mutex{others, "stock"}.try_lock(); });
  EXPECT_FALSE(refused.get());  // else it waits for the disk
  let_go();
}

}  // namespace
}  // namespace holdfast::faults
