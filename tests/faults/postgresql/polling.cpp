// SPDX-License-Identifier: Apache-2.0
// Clients that poll, behind poolers of transactions.

#include <vector>

#include "faults/postgresql/pgbouncer.hpp"
#include "support/witness.hpp"
#include <holdfast/diagnosis.hpp>

namespace holdfast::faults {
namespace {

using testing::HasSubstr;
using testing::Not;

class postgresql_polling : public on_postgresql {
 protected:
  explicit postgresql_polling(postgresql_server::settings settings = {})
      : on_postgresql{std::move(settings)} {}
  [[nodiscard]] std::string url_through(const pgbouncer& pooler, const std::string& more = {}) const {
    return server_.url_through(pooler.port(), "?notify=poll" + more);
  }
  /// Until so many claims stand in the queue.
  static void expect_waiters(const client& locks, std::size_t count) {
    await([&] { return locks.inspect("stock").value_or(lock_state{}).waiters.size() == count; },
          "they do not wait");
  }
};

TEST_F(postgresql_polling, many_clients_exclude_one_another_through_two_poolers) {
  const pgbouncer one{server_, "transaction", "default_pool_size = 3\nserver_round_robin = 1\n"};
  const pgbouncer two{server_, "transaction", "default_pool_size = 2\n"};
  constexpr int clients = 8;
  constexpr int turns = 25;
  const test::scratch_folder folder;
  const std::string file = folder.file("witness");
  const test::witness witness{file};
  std::vector<std::unique_ptr<actor>> all;
  for (int i = 0; i < clients; ++i) all.push_back(start(url_through(i % 2 == 0 ? one : two)));
  all.push_back(start(server_.url()));  // and one that is notified
  for (const auto& each : all) each->tell("contend stock " + file + ' ' + std::to_string(turns));
  for (const auto& each : all) EXPECT_EQ(hear_answer(*each), "contended");
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.count(), (clients + 1) * turns);
  EXPECT_EQ(witness.fragile_count(), (clients + 1) * turns);
}

TEST_F(postgresql_polling, clients_are_served_in_their_order) {
  const pgbouncer one{server_, "transaction", "default_pool_size = 2\nserver_round_robin = 1\n"};
  const pgbouncer two{server_, "transaction"};
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  std::vector<std::unique_ptr<actor>> waiters;
  for (std::size_t i = 0; i < 6; ++i) {
    waiters.push_back(start(url_through(i % 2 == 0 ? one : two)));
    waiters.back()->tell("hold stock ttl=3600000");  // a look of its own would come after 20 minutes
    expect_waiters(locks, i + 1);
  }
  fencing_token last = held.token();
  EXPECT_FALSE(held.release());
  for (const auto& each : waiters) {
    const auto token = hear_token(*each);
    EXPECT_GT(token, last);
    last = token;
    EXPECT_EQ(each->ask("release"), "released");
  }
  expect_free();
}

TEST_F(postgresql_polling, leases_and_waiters_outlive_a_pooler) {
  pgbouncer pooler{server_, "transaction"};
  client direct{server_.url()};
  client locks{url_through(pooler)};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(url_through(pooler));
  waiter->tell("hold stock ttl=3600000");
  expect_waiters(direct, 1);
  pooler.kill();
  EXPECT_FALSE(mutex(direct, "stock").try_lock());
  pooler.start();
  EXPECT_EQ(renew(held), renewal::renewed);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
  EXPECT_EQ(waiter->ask("release"), "released");
}

TEST_F(postgresql_polling, sessions_at_the_server_may_end) {
  const pgbouncer pooler{server_, "transaction", "default_pool_size = 2\n"};
  client locks{url_through(pooler)};
  auto held = mutex{locks, "stock", patient()}.acquire();
  for (int i = 0; i < 5; ++i) {
    terminate_all();
    EXPECT_EQ(renew(held), renewal::renewed);
  }
  EXPECT_FALSE(held.release());
}

// What a client leaves in a session would be the next one's.
TEST_F(postgresql_polling, leaves_nothing_in_a_session) {
  const pgbouncer pooler{server_, "transaction", "default_pool_size = 1\n"};
  const auto next = pooler.console();
  const auto before = next->ask(settings_of_session);
  ASSERT_THAT(before, HasSubstr("search_path="));
  {
    client locks{url_through(pooler)};
    auto held = mutex{locks, "stock", patient()}.acquire();
    EXPECT_TRUE(locks.inspect("stock"));
    EXPECT_EQ(renew(held), renewal::renewed);
    EXPECT_FALSE(held.release());
  }
  EXPECT_EQ(next->ask(settings_of_session), before);
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_listening_channels()"), "0");
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_prepared_statements"), "0");
}

// Another client's SET stays in the session that the pooler hands out next.
TEST_F(postgresql_polling, settings_of_others_do_not_reach_its_calls) {
  const pgbouncer pooler{server_, "transaction", "default_pool_size = 1\n"};
  const auto other = pooler.console();
  client locks{url_through(pooler)};
  EXPECT_FALSE(mutex(locks, "first", patient()).acquire().release());
  EXPECT_EQ(other->ask("SET client_encoding = 'LATIN1'; SET synchronous_commit = off; SET lock_timeout = 0; "
                       "SET statement_timeout = '500ms'; SET "
                       "search_path = pg_temp; SET enable_seqscan = on"),
            "");
  auto held = mutex{locks, "stra\u00dfe", patient()}.acquire();
  client direct{server_.url()};
  EXPECT_FALSE(mutex(direct, "stra\u00dfe").try_lock());
  EXPECT_FALSE(held.release());
  EXPECT_EQ(other->ask("BEGIN"), "");
  EXPECT_EQ(other->ask("SELECT public.holdfast_locks_settle()"), "");
  EXPECT_EQ(other->ask("SHOW synchronous_commit"), "on");
  EXPECT_EQ(other->ask("SHOW lock_timeout"), "1s");
  EXPECT_EQ(other->ask("SHOW statement_timeout"), "2s");
  EXPECT_EQ(other->ask("COMMIT"), "");
  EXPECT_EQ(other->ask("SHOW synchronous_commit"), "off");
}

// All clients of a URL have to find the same table.
TEST_F(postgresql_polling, search_paths_of_others_do_not_say_which_table_it_is) {
  const pgbouncer pooler{server_, "transaction", "default_pool_size = 1\n"};
  const auto other = pooler.console();
  EXPECT_EQ(other->ask("CREATE SCHEMA theirs"), "");
  client direct{server_.url()};
  auto held = mutex{direct, "stock"}.acquire();
  for (const std::string path : {"pg_catalog, pg_temp", "theirs"}) {
    for (const std::string options : {"?notify=poll", "?pooler=session"}) {
      EXPECT_EQ(other->ask("SET search_path = " + path), "");
      const std::string url = server_.url_through(pooler.port(), options);
      client locks{url};
      EXPECT_FALSE(mutex(locks, "stock").try_lock()) << path << options;
      for (const finding& each : diagnose(url)) {
        EXPECT_THAT(each.observed, Not(HasSubstr("does not exist"))) << path << options;
      }
    }
  }
  EXPECT_FALSE(held.release());
}

// No call can change it any more when it has begun.
TEST_F(postgresql_polling, is_refused_where_transactions_do_not_see_what_was_committed) {
  const pgbouncer pooler{server_, "transaction", "default_pool_size = 1\n"};
  client locks{url_through(pooler)};
  EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
  const auto other = pooler.console();
  const auto expect_refused = [](client& by) {
    const auto refused = known_failure_of([&] { mutex{by, "stock", hasty()}.lock(); });
    EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("default_transaction_isolation"));
    EXPECT_THAT(refused.text, HasSubstr("server_reset_query_always"));
  };
  EXPECT_EQ(other->ask("SET default_transaction_isolation = 'repeatable read'"), "");
  expect_refused(locks);
  server_.ask("ALTER ROLE holdfast SET default_transaction_isolation = 'serializable'");
  client fresh{server_.url("?notify=poll")};
  expect_refused(fresh);
  EXPECT_EQ(other->ask("RESET default_transaction_isolation"), "");
  EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
}

// The pooler may lead to another server after the client has connected, whose state may be old.
TEST_F(postgresql_polling, reads_nothing_of_a_standby) {
  const pgbouncer pooler{server_, "transaction", "server_login_retry = 1\n"};
  client locks{url_through(pooler)};
  EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
  EXPECT_TRUE(locks.inspect("stock"));
  server_.shut_down();
  server_.start_as_standby();
  const auto refused = known_failure_of([&] { static_cast<void>(locks.inspect("stock")); });
  EXPECT_EQ(refused.code, errc::unavailable);
  EXPECT_THAT(refused.text, HasSubstr("standby"));
  EXPECT_EQ(server_.ask("SELECT pg_promote()"), "t");
  EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
}

TEST_F(postgresql_polling, of_statements_is_refused) {
  const pgbouncer pooler{server_, "statement"};
  const auto refused = failure_of([&] {
    client locks{url_through(pooler)};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
}

TEST_F(postgresql_polling, holders_hear_at_their_renewal_who_asks_them_to_release) {
  const pgbouncer pooler{server_, "transaction"};
  client locks{url_through(pooler)};
  auto held = mutex{locks, "stock", patient().ttl(2s)}.acquire();
  client direct{server_.url()};
  EXPECT_EQ(direct.request_release("stock", "make way"), 1);
  await([&] { return held.release_requested().stop_requested(); }, "it is not asked");
  EXPECT_EQ(direct.force_release("stock"), 1);
  await([&] { return held.lost().stop_requested(); }, "it does not hear of its end");
}

TEST_F(postgresql_polling, watchers_are_called) {
  const pgbouncer pooler{server_, "transaction"};
  client locks{url_through(pooler)};
  client direct{server_.url()};
  EXPECT_FALSE(mutex(direct, "stock").acquire().release());
  std::atomic<int> calls = 0;
  const auto watch = locks.watch("stock", [&] { ++calls; });
  await([&] { return calls > 0; }, "it is not called at the beginning");
  const int seen = calls;
  EXPECT_FALSE(mutex(direct, "stock").acquire().release());
  await([&] { return calls > seen; }, "it is not called");
}

TEST_F(postgresql_polling, is_what_the_doctor_says_and_names_where_it_is_needed) {
  const pgbouncer pooler{server_, "transaction"};
  const auto said_of = [](const std::string& url, const std::string& name) {
    std::string all;
    for (const finding& each : diagnose(url)) {
      if (each.condition == name) all += each.observed;
    }
    return all;
  };
  EXPECT_THAT(said_of(url_through(pooler, "&poll=250ms"), "notifications"),
              "a client polls through a pooler: while claims wait, one statement for all of them at least "
              "every 250 ms");
  EXPECT_THAT(said_of(server_.url("?notify=poll"), "notifications"), HasSubstr("no pooler is in front"));
  EXPECT_EQ(said_of(server_.url(), "notifications"), "");
  EXPECT_THAT(said_of(server_.url_through(pooler.port()), "server"), HasSubstr("notify=poll"));
}

/// A server that counts statements.
class postgresql_polls : public postgresql_polling {
 protected:
  postgresql_polls() : postgresql_polling{{.lines = {"shared_preload_libraries = 'pg_stat_statements'"}}} {
    EXPECT_EQ(server_.ask("CREATE EXTENSION pg_stat_statements"), "");
  }
  std::int64_t polls() {
    return server_.number(
        "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query LIKE 'SELECT "
        "%holdfast_locks_poll\"($1%'");
  }
};

TEST_F(postgresql_polls, are_one_statement_for_all_waiters_of_a_client_and_none_without) {
  const pgbouncer pooler{server_, "transaction"};
  constexpr std::size_t waiters = 100;
  client locks{url_through(pooler)};
  client direct{server_.url()};
  auto held = mutex{direct, "stock", lock_options{}.ttl(1h)}.acquire();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(mutex(locks, "other", patient()).acquire().release());
  EXPECT_EQ(polls(), 0);

  const auto since = boot_clock::now();
  std::vector<std::thread> all;
  for (std::size_t i = 0; i < waiters; ++i) {
    all.emplace_back([&] { EXPECT_FALSE(mutex(locks, "stock", patient().ttl(1h)).acquire().release()); });
  }
  expect_waiters(direct, waiters);
  const auto before = polls();
  await([&] { return polls() >= before + 20; }, "it does not poll");
  // Each waiter may begin a short interval. If each polled by itself, there would be a hundred times as many.
  const auto most = (boot_clock::now() - since) / 5ms + 1;
  EXPECT_LE(polls(), most + static_cast<std::int64_t>(waiters));
  EXPECT_FALSE(held.release());
  for (auto& each : all) each.join();

  const auto after = polls();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(mutex(locks, "other").acquire().release());
  EXPECT_LE(polls(), after + 1) << "one may have been under way";
}

// Some poolers keep a session for a client that sends it.
TEST_F(postgresql_polls, send_no_SET) {
  {
    client locks{server_.url("?notify=poll")};
    auto held = mutex{locks, "stock", patient()}.acquire();
    EXPECT_EQ(renew(held), renewal::renewed);
    EXPECT_TRUE(locks.inspect("stock"));
    EXPECT_FALSE(held.release());
  }
  EXPECT_GT(
      server_.number("SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%holdfast_locks_settle%'"),
      0);
  EXPECT_EQ(
      server_.ask(
          "SELECT coalesce(string_agg(query, '; '), '') FROM pg_stat_statements WHERE query ILIKE 'set %'"),
      "");
}

TEST(postgresql_url, takes_polls_where_they_mean_something) {
  const auto refusal = [](const std::string& options) {
    const auto refused = failure_of([&] { client{"postgresql://localhost/?" + options}; });
    EXPECT_EQ(refused.code, errc::invalid_url) << options;
    return refused.text;
  };
  EXPECT_THAT(refusal("notify=never"), HasSubstr("notify"));
  EXPECT_THAT(refusal("poll=1s"), HasSubstr("notify=poll"));
  EXPECT_THAT(refusal("notify=listen&poll=1s"), HasSubstr("notify=poll"));
  EXPECT_THAT(refusal("notify=poll&poll=5ms"), HasSubstr("poll"));
  EXPECT_THAT(refusal("notify=poll&mode=session"), HasSubstr("mode=session"));
  EXPECT_THAT(refusal("notify=poll&pooler=session"), HasSubstr("pooler"));
}

}  // namespace
}  // namespace holdfast::faults
