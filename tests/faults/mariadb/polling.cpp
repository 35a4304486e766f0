// SPDX-License-Identifier: Apache-2.0
// Clients that poll a MariaDB server: any connection does for any call.

#include <atomic>
#include <vector>

#include "faults/faults.hpp"
#include "support/mariadb_server.hpp"
#include "support/witness.hpp"
#include <holdfast/diagnosis.hpp>

namespace holdfast::faults {
namespace {

using test::mariadb_server;
using testing::HasSubstr;

class mariadb_polling : public testing::Test {
 protected:
  [[nodiscard]] std::string url(const std::string& more = {}) const {
    return server_.url("?notify=poll" + more);
  }
  /// Ends our clients' connections, as a proxy would that takes others.
  void kill_all() {
    for (const auto& row :
         server_.ask("SELECT id FROM information_schema.processlist WHERE user = 'holdfast'")) {
      try {
        server_.ask("KILL " + row.at(0));
      } catch (const test::mariadb_error&) {  // it has ended by itself
      }
    }
  }
  static void visit(const std::string& url) {
    client locks{url};
    EXPECT_FALSE(mutex(locks, "stock").acquire().release());
  }
  void contend(const std::vector<std::string>& urls, int turns, const std::function<void()>& meanwhile) {
    const test::scratch_folder folder;
    const std::string file = folder.file("witness");
    const test::witness witness{file};
    std::vector<std::unique_ptr<actor>> all;
    for (const auto& each : urls) all.push_back(start(each));
    for (const auto& each : all) each->tell("contend stock " + file + ' ' + std::to_string(turns));
    const auto visits = static_cast<std::int64_t>(urls.size()) * turns;
    await(
        [&] {
          meanwhile();
          return witness.count() >= visits;
        },
        "they do not come to an end");
    for (const auto& each : all) EXPECT_EQ(hear_answer(*each), "contended");
    EXPECT_EQ(witness.overlaps(), 0);
    EXPECT_EQ(witness.count(), visits);
    EXPECT_EQ(witness.fragile_count(), visits);
  }

  mariadb_server server_;
};

TEST_F(mariadb_polling, clients_exclude_one_another_while_connections_are_replaced) {
  visit(server_.url());
  int seen = 0;
  contend({url(), url(), url(), url(), server_.url()}, 15, [&] {
    const int now = static_cast<int>(server_.number("SELECT count(*) FROM holdfast_locks_claims"));
    if (now != std::exchange(seen, now)) kill_all();
  });
}

// A session is what the server's defaults make of it: nobody has set it to anything.
TEST_F(mariadb_polling, needs_no_setting_of_the_session) {
  server_.ask("SET GLOBAL tx_isolation = 'SERIALIZABLE'");
  server_.ask("SET GLOBAL time_zone = '+05:00'");
  server_.ask("SET GLOBAL completion_type = 1");
  server_.ask("SET GLOBAL innodb_lock_wait_timeout = 50");
  server_.ask("SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,ORACLE'");
  contend({url(), url(), url(), server_.url()}, 20, [] {});
  client locks{url()};
  client notified{server_.url()};
  auto held = mutex{locks, "it's \\ a \"name\" \u00fc"}.acquire();
  EXPECT_FALSE(mutex(notified, "it's \\ a \"name\" \u00fc").try_lock());
  const auto ahead =
      static_cast<std::int64_t>(held.token().value()) / 1'000'000 - server_.number("SELECT UNIX_TIMESTAMP()");
  EXPECT_LT(std::abs(ahead), 60) << "a token of another time zone";
}

TEST_F(mariadb_polling, clients_are_served_in_their_order) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  std::vector<std::unique_ptr<actor>> waiters;
  for (std::size_t i = 0; i < 5; ++i) {
    waiters.push_back(start(url()));
    waiters.back()->tell("hold stock ttl=3600000");  // a look of its own would come after 20 minutes
    await([&] { return locks.inspect("stock").value_or(lock_state{}).waiters.size() == i + 1; },
          "it does not wait");
  }
  fencing_token last = held.token();
  EXPECT_FALSE(held.release());
  for (const auto& each : waiters) {
    const auto token = hear_token(*each);
    EXPECT_GT(token, last);
    last = token;
    EXPECT_EQ(each->ask("release"), "released");
  }
}

TEST_F(mariadb_polling, leaves_nothing_in_a_session) {
  visit(url());  // makes the tables
  server_.ask("SET GLOBAL log_output = 'TABLE'");
  server_.ask("SET GLOBAL general_log = ON");
  {
    client locks{url()};
    auto held = mutex{locks, "stock", patient()}.acquire();
    client second{url()};
    std::thread waiter{[&] { EXPECT_FALSE(mutex(second, "stock", patient()).acquire().release()); }};
    expect_waiter(locks);
    EXPECT_EQ(renew(held), renewal::renewed);
    EXPECT_EQ(server_.number("SELECT count(*) FROM information_schema.processlist WHERE user = 'holdfast'"),
              2)
        << "one connection a client";
    EXPECT_FALSE(held.release());
    waiter.join();
  }
  server_.ask("SET GLOBAL general_log = OFF");
  const std::string ours = "SELECT count(*) FROM mysql.general_log WHERE user_host LIKE 'holdfast%' AND ";
  EXPECT_GT(server_.number(ours + "argument LIKE 'SET STATEMENT % FOR%CALL%acquire%'"), 0);
  EXPECT_GT(server_.number(ours + "argument LIKE 'SET STATEMENT % FOR%CALL%listen%'"), 0);
  EXPECT_EQ(server_.number(ours + "command_type = 'Prepare'"), 0);
  EXPECT_EQ(server_.number(ours + "argument LIKE 'SET SESSION%'"), 0);
  EXPECT_EQ(server_.number(ours + "argument LIKE '%GET_LOCK%'"), 0);
  EXPECT_EQ(server_.number(ours + "argument LIKE '%KILL%'"), 0);
}

TEST_F(mariadb_polling, sends_nothing_while_no_claim_waits) {
  client locks{url()};
  EXPECT_FALSE(mutex(locks, "stock").acquire().release());
  const auto held = mutex{locks, "stock", lock_options{}.ttl(1h)}.acquire();
  const auto before = server_.status("Com_call_procedure");
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(mutex(locks, "other").acquire().release());
  EXPECT_LE(server_.status("Com_call_procedure"), before + 42);
}

TEST_F(mariadb_polling, is_refused_where_transactions_stay_open) {
  server_.ask("SET GLOBAL autocommit = 0");
  const auto refused = failure_of([&] {
    client locks{url()};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("autocommit"));
}

// Procedures of former versions rely on the isolation of the session.
TEST_F(mariadb_polling, is_refused_with_procedures_of_former_versions) {
  visit(server_.url());
  server_.ask("ALTER PROCEDURE holdfast_locks_look COMMENT 'Holdfast 2 8c5f6b6a9c3e1d20'");
  const auto refused = failure_of([&] {
    client locks{url()};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("holdfast schema"));
  visit(server_.url());
}

TEST_F(mariadb_polling, is_what_the_doctor_says) {
  std::string all;
  for (const finding& each : diagnose(url("&poll=250ms"))) {
    if (each.condition == "notifications") all += each.observed;
  }
  EXPECT_THAT(all, HasSubstr("250 ms"));
  const auto refused = failure_of([] { client{"mysql://localhost/holdfast?notify=poll&mode=session"}; });
  EXPECT_EQ(refused.code, errc::invalid_url);
  EXPECT_THAT(refused.text, HasSubstr("mode=session"));
}

}  // namespace
}  // namespace holdfast::faults
