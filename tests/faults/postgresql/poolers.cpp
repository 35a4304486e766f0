// SPDX-License-Identifier: Apache-2.0
// PgBouncer between client and server.

#include "faults/postgresql/pgbouncer.hpp"
#include <holdfast/diagnosis.hpp>

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

class postgresql_poolers : public on_postgresql {};

TEST_F(postgresql_poolers, of_transactions_or_statements_are_refused_at_once) {
  for (const std::string mode : {"transaction", "statement"}) {
    const pgbouncer pooler{server_, mode};
    const auto refused = failure_of([&] {
      client locks{server_.url_through(pooler.port())};
      mutex{locks, "stock", endless()}.lock();
    });
    EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("connection pooler"));
    EXPECT_THAT(refused.text, HasSubstr("connect directly"));
    EXPECT_THAT(refused.text, HasSubstr("pooler=session"));
    EXPECT_THAT(refused.text, HasSubstr("notify=poll"));
  }
  EXPECT_EQ(server_.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'holdfast%'"), 0);
}

// Whatever they pool: whether and when they end a session is their own affair.
TEST_F(postgresql_poolers, are_refused_where_locks_end_with_a_session) {
  for (const std::string mode : {"transaction", "session"}) {
    const pgbouncer pooler{server_, mode};
    const auto refused = failure_of([&] {
      client locks{server_.url_through(pooler.port(), "?mode=session")};
      mutex{locks, "stock"}.lock();
    });
    EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("connection pooler"));
    EXPECT_THAT(refused.text, HasSubstr("connect directly"));
    EXPECT_THAT(refused.text, testing::Not(HasSubstr("pooler=session")));
  }
}

TEST_F(postgresql_poolers, of_sessions_serve_those_who_say_so) {
  const pgbouncer pooler{server_, "session"};
  const auto unsaid = failure_of([&] {
    client locks{server_.url_through(pooler.port())};
    mutex{locks, "stock"}.lock();
  });
  EXPECT_EQ(unsaid.code, errc::unavailable) << unsaid.text;

  const auto url = server_.url_through(pooler.port(), "?pooler=session");
  client locks{url};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(url);
  waiter->tell("hold stock ttl=3600000");  // a look of its own would come after 20 minutes
  expect_waiter(locks);
  client direct{server_.url()};
  EXPECT_FALSE(mutex(direct, "stock").try_lock());
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
  EXPECT_EQ(waiter->ask("release"), "released");

  auto again = mutex{locks, "stock"}.acquire();
  EXPECT_GE(terminate_all(), 2);
  EXPECT_EQ(renew(again), renewal::renewed);
}

// What a client leaves in a session is not for the next one who gets it.
TEST_F(postgresql_poolers, of_sessions_get_them_back_as_they_were) {
  const pgbouncer pooler{server_, "session", "default_pool_size = 1\n"};
  for (int turn = 0; turn < 3; ++turn) {
    client locks{server_.url_through(pooler.port(), "?pooler=session")};
    EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
  }
  const auto next = pooler.console();
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_listening_channels()"), "0");
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"),
            "0");
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_prepared_statements"), "0");
  expect_free();
}

// Said of one that pools transactions, it is found out where another connection gets in between.
TEST_F(postgresql_poolers, of_transactions_that_are_said_to_pool_sessions_are_found_out) {
  const pgbouncer pooler{server_, "transaction", "server_round_robin = 1\n"};
  std::vector<std::unique_ptr<test::postgresql_console>> others;
  for (int each = 0; each < 3; ++each) {
    others.push_back(pooler.console());
    EXPECT_EQ(others.back()->ask("BEGIN"), "");
  }
  for (const auto& each : others) EXPECT_EQ(each->ask("COMMIT"), "");
  const auto refused = failure_of([&] {
    client locks{server_.url_through(pooler.port(), "?pooler=session")};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
}

// As long as no other client of the pooler gets in between, all is well.
TEST_F(postgresql_poolers, of_transactions_that_are_said_to_pool_sessions_are_left_as_they_were) {
  const pgbouncer pooler{server_, "transaction", "default_pool_size = 1\n"};
  const auto next = pooler.console();
  const auto before = next->ask(settings_of_session);
  ASSERT_THAT(before, HasSubstr("search_path="));
  for (int turn = 0; turn < 2; ++turn) {
    client locks{server_.url_through(pooler.port(), "?pooler=session")};
    auto held = mutex{locks, "stock", patient()}.acquire();
    EXPECT_EQ(renew(held), renewal::renewed);
    EXPECT_EQ(next->ask(settings_of_session), before);
    EXPECT_FALSE(held.release());
  }
  EXPECT_EQ(next->ask(settings_of_session), before);
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_prepared_statements"), "0");
}

// If sessions of other applications get in between, no call is carried out with their settings, leases go on,
// and none of those sessions is ended, although the pooler may have left it the name of a former one.
TEST_F(postgresql_poolers, of_transactions_that_are_said_to_pool_sessions_cost_no_lease) {
  const pgbouncer pooler{server_, "transaction"};
  client locks{server_.url_through(pooler.port(), "?pooler=session")};
  auto held = mutex{locks, "stock", patient()}.acquire();
  const auto other = pooler.console();
  EXPECT_EQ(other->ask("BEGIN"), "");
  const auto name = other->ask(
      "SELECT set_config('application_name', (SELECT max(application_name) FROM pg_stat_activity "
      "WHERE application_name LIKE 'holdfast %'), true)");
  EXPECT_THAT(name, testing::StartsWith("holdfast "));
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_EQ(other->ask("COMMIT"), "");
  EXPECT_FALSE(held.release());
}

TEST_F(postgresql_poolers, are_what_the_doctor_tries) {
  const auto said_of = [](const std::string& url) {
    std::string all;
    for (const finding& each : diagnose(url)) {
      if (each.condition == "pooler" || each.condition == "server")
        all += each.condition + ": " + each.observed + "; " + each.remedy + '\n';
    }
    return all;
  };
  const std::string own = "?pooler=session";
  const pgbouncer transactions{server_, "transaction"};
  EXPECT_THAT(
      said_of(server_.url_through(transactions.port(), own)),
      testing::AllOf(HasSubstr("server: the connection pooler switched the session"),
                     HasSubstr("; notify=poll in place of pooler=session in the URL of all clients")));
  EXPECT_THAT(said_of(server_.url_through(transactions.port())),
              HasSubstr("; add notify=poll to the URL of all clients, or connect directly"));
  const pgbouncer sessions{server_, "session"};
  EXPECT_THAT(said_of(server_.url_through(sessions.port(), own)),
              HasSubstr("pooler: the pooler kept the session"));
  const pgbouncer narrow{server_, "session", "default_pool_size = 1\nquery_wait_timeout = 1\n"};
  EXPECT_THAT(said_of(server_.url_through(narrow.port(), own + "&connect_timeout=1m")),
              HasSubstr("pooler: whether the pooler keeps sessions cannot be seen"));
}

TEST_F(postgresql_poolers, of_statements_are_refused_with_advice) {
  const pgbouncer pooler{server_, "statement"};
  for (const std::string options : {"?notify=poll", "?pooler=session"}) {
    const auto refused = failure_of([&] {
      client locks{server_.url_through(pooler.port(), options)};
      mutex{locks, "stock", endless()}.lock();
    });
    EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("connect directly"));
  }
}

TEST(postgresql_url, knows_no_other_pooler) {
  for (const char* pooler : {"transaction", "statement", "1", ""}) {
    const auto refused = failure_of([&] { client{std::string{"postgresql://localhost/?pooler="} + pooler}; });
    EXPECT_EQ(refused.code, errc::invalid_url) << pooler;
    EXPECT_THAT(refused.text, HasSubstr("pooler"));
  }
}

}  // namespace
}  // namespace holdfast::faults
