// SPDX-License-Identifier: Apache-2.0
// A server that takes no more connections, has no room left, takes only reading, or has no time.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

TEST(postgresql_roles, with_a_connection_limit_say_so) {
  postgresql_server server;
  server.ask("ALTER ROLE holdfast CONNECTION LIMIT 1");
  client first{server.url()};
  const auto held = mutex{first, "stock"}.acquire();
  client late{server.url()};
  const auto refused = failure_of([&] { mutex{late, "stock", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::exhausted) << refused.text;
}

class postgresql_full : public on_postgresql {};

// The one connection of a client has been ended, and others have taken its place.
TEST_F(postgresql_full, while_a_holder_is_cut_off_costs_it_the_lease_at_its_deadline_at_most) {
  client first{server_.url()};
  auto held = mutex{first, "stock", lock_options{}.ttl(1s)}.acquire();
  loss loss_signal{held};
  ASSERT_EQ(server_.ask("ALTER ROLE holdfast CONNECTION LIMIT 0"), "");
  terminate_all();
  loss_signal.expect_told();
  EXPECT_FALSE(held.held());
  ASSERT_EQ(server_.ask("ALTER ROLE holdfast CONNECTION LIMIT -1"), "");
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_TRUE(mutex(first, "stock").try_lock_for(60s));
}

class postgresql_read_only : public on_postgresql {};

TEST_F(postgresql_read_only, as_a_standby_it_is_named_so_and_serves_when_it_is_promoted) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  server_.shut_down();
  server_.start_as_standby();
  const auto at_opening = failure_of([&] {
    client other{server_.url()};
    mutex{other, "stock", hasty()}.lock();
  });
  EXPECT_EQ(at_opening.code, errc::unavailable) << at_opening.text;
  EXPECT_THAT(at_opening.text, HasSubstr("read-only standby; the store's URL has to lead to the primary"));
  await(
      [&] {
        return failure_of([&] { mutex{locks, "other", hasty()}.lock(); }).text.find("standby") !=
               std::string::npos;
      },
      "it is not said what stands in the way");
  auto waiting = std::async(std::launch::async, [&] { return mutex{locks, "other", patient()}.acquire(); });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(server_.ask("SELECT pg_promote()"), "t");
  EXPECT_TRUE(waiting.get().held());
  EXPECT_EQ(renew(held), renewal::renewed);
}

/// A session of somebody's who keeps the row of "stock" locked, as a backup or a person at psql may.
class postgresql_timeouts : public on_postgresql {
 protected:
  void hold_row() { EXPECT_EQ(other_->ask("BEGIN; SELECT name FROM holdfast_locks FOR UPDATE"), "stock"); }
  void let_go() { EXPECT_EQ(other_->ask("COMMIT"), ""); }

  std::unique_ptr<test::postgresql_console> other_ = server_.console();
};

TEST_F(postgresql_timeouts, of_its_role_are_told_and_it_tries_again) {
  for (const auto& [setting, says] :
       {std::pair{"statement_timeout = 200", "statement_timeout"}, {"lock_timeout = 100", "55P03"}}) {
    SCOPED_TRACE(setting);
    server_.ask(std::string{"ALTER ROLE holdfast SET "} + setting);
    client locks{server_.url()};
    EXPECT_FALSE(mutex(locks, "stock").acquire().release());
    hold_row();
    const auto failed = known_failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
    EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
    EXPECT_THAT(failed.text, HasSubstr(says));
    auto waiting = std::async(std::launch::async, [&] { return mutex{locks, "stock", patient()}.acquire(); });
    EXPECT_EQ(waiting.wait_for(500ms), std::future_status::timeout);
    let_go();
    EXPECT_TRUE(waiting.get().held());
    server_.ask("ALTER ROLE holdfast RESET ALL");
  }
}

TEST_F(postgresql_timeouts, by_an_idle_session_timeout_it_costs_nothing) {
  if (server_.number("SELECT current_setting('server_version_num')::int") < 140000) {
    GTEST_SKIP() << "PostgreSQL 13 has no idle_session_timeout";
  }
  server_.ask("ALTER ROLE holdfast SET idle_session_timeout = 50");
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(server_.url());
  waiter->tell("hold stock ttl=60000");
  expect_waiter(locks);
  // Idle for long enough that its session is another one.
  const auto session = [&] {
    return server_.number(
        "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'");
  };
  const auto first = session();
  await([&] { return session() != first; }, "it is not ended");
  EXPECT_EQ(renew(held), renewal::renewed);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
}

// Somebody has a table locked as a whole: for a VACUUM FULL, say.
TEST_F(postgresql_timeouts, by_nothing_it_waits_for_who_has_the_table) {
  client locks{server_.url()};
  EXPECT_FALSE(mutex(locks, "stock").acquire().release());
  EXPECT_EQ(other_->ask("BEGIN; LOCK TABLE holdfast_locks IN ACCESS EXCLUSIVE MODE"), "");
  const auto failed = failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
  EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::unknown_outcome) << failed.text;
  let_go();
  EXPECT_TRUE(mutex(locks, "stock", patient()).try_acquire_for(60s));
  locks.close();
  expect_free();
}

}  // namespace
}  // namespace holdfast::faults
