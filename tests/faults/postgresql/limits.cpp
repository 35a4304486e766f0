// A server that takes no more connections, has no room left, takes only reading, or has no time.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

class postgresql_full : public on_postgresql {
 protected:
  postgresql_full()
      : on_postgresql{{.lines = {"max_connections = 8", "superuser_reserved_connections = 3"}}} {}
};

TEST_F(postgresql_full, of_connections_says_so_and_lets_in_when_there_is_room) {
  client first{server_.url()};
  auto held = mutex{first, "stock"}.acquire();
  std::vector<std::unique_ptr<test::postgresql_console>> others;
  for (bool room = true; room;) {
    others.push_back(server_.console("holdfast"));
    room = others.back()->connected();
  }
  const auto refused = failure_of([&] {
    client late{server_.url()};
    mutex{late, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::exhausted) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("max_connections"));
  EXPECT_EQ(held.renew(), renewal::renewed) << "who is connected is not touched by it";

  client late{server_.url()};
  auto waiting = std::async(std::launch::async, [&] { return mutex{late, "other", patient()}.acquire(); });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  others.clear();
  EXPECT_TRUE(waiting.get().held());
}

TEST(postgresql_roles, with_a_connection_limit_say_so) {
  postgresql_server server;
  server.ask("ALTER ROLE holdfast CONNECTION LIMIT 1");
  client first{server.url()};
  const auto held = mutex{first, "stock"}.acquire();
  client late{server.url()};
  const auto refused = failure_of([&] { mutex{late, "stock", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::exhausted) << refused.text;
}

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

TEST_F(postgresql_read_only, by_its_settings_it_is_told_so_and_serves_when_they_change) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto set = [&](const std::string& value) {
    EXPECT_EQ(server_.ask("ALTER SYSTEM SET default_transaction_read_only = " + value), "");
    EXPECT_EQ(server_.ask("SELECT pg_reload_conf()"), "t");
    await(
        [&] {
          const auto seen = server_.console("holdfast")->ask("SHOW default_transaction_read_only");
          return seen == value;
        },
        "it is not set");
  };
  set("on");
  // Known by the session that there was, and by the next.
  for (int turn = 0; turn < 3; ++turn) {
    const auto failed = known_failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
    EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
    EXPECT_THAT(failed.text, HasSubstr("read-only"));
  }
  EXPECT_TRUE(held.held());
  const auto person = server_.console();
  EXPECT_EQ(person->ask("SET default_transaction_read_only = off"), "");
  EXPECT_EQ(person->ask("ALTER SYSTEM RESET default_transaction_read_only"), "");
  EXPECT_EQ(server_.ask("SELECT pg_reload_conf()"), "t");
  EXPECT_TRUE(mutex(locks, "other", patient()).try_lock_for(60s));
  EXPECT_EQ(renew(held), renewal::renewed);
}

/// A session of somebody's who keeps the row of "stock" locked, as a backup or a person at psql may.
class postgresql_timeouts : public on_postgresql {
 protected:
  void hold_row() { EXPECT_EQ(other_->ask("BEGIN; SELECT name FROM holdfast_locks FOR UPDATE"), "stock"); }
  void let_go() { EXPECT_EQ(other_->ask("COMMIT"), ""); }

  std::unique_ptr<test::postgresql_console> other_ = server_.console();
};

TEST_F(postgresql_timeouts, by_a_statement_timeout_it_says_so_and_tries_again) {
  server_.ask("ALTER ROLE holdfast SET statement_timeout = 200");
  client locks{server_.url()};
  EXPECT_FALSE(mutex(locks, "stock").acquire().release());
  hold_row();
  const auto failed = known_failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("statement_timeout"));
  auto waiting = std::async(std::launch::async, [&] { return mutex{locks, "stock", patient()}.acquire(); });
  EXPECT_EQ(waiting.wait_for(500ms), std::future_status::timeout);
  let_go();
  EXPECT_TRUE(waiting.get().held());
}

TEST_F(postgresql_timeouts, by_a_lock_timeout_it_says_so_and_tries_again) {
  server_.ask("ALTER ROLE holdfast SET lock_timeout = 100");
  client locks{server_.url()};
  EXPECT_FALSE(mutex(locks, "stock").acquire().release());
  hold_row();
  const auto failed = known_failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("55P03"));
  auto waiting = std::async(std::launch::async, [&] { return mutex{locks, "stock", patient()}.acquire(); });
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout);
  let_go();
  EXPECT_TRUE(waiting.get().held());
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
