// SPDX-License-Identifier: Apache-2.0
// Notifications: a client that has one does not sleep on, whenever KILL QUERY comes.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "routines/mariadb/procedure_fixture.hpp"
#include "runtime/password.hpp"
#include "stores/mariadb/link/listener.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using row = mariadb_console::row;

constexpr auto wait_limit = 60s;

/// Asks again and again until the answer is this. What is asked about happens at the server, which tells
/// nobody.
void expect_soon(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + wait_limit;
  while (!is_so()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(1ms);
  }
}

class mariadb_notifications : public testing::Test {
 protected:
  /// The notification connection of the fixture's client, as a plain connection.
  std::unique_ptr<mariadb_console> open_connection(const mariadb_console::account& login = {
                                                       "holdfast", "secret", "holdfast"}) {
    auto connection = procedure_fixture::server().console(login);
    connection->ask("DO GET_LOCK(concat('holdfast:', lower(hex(" + procedure_fixture::id(200) + "))), 0)");
    return connection;
  }
  std::string listen_call(std::string_view seen = "''", int seconds = 60) {
    return "CALL " + at.names().quoted("listen") + '(' + procedure_fixture::id(200) + ", " +
           std::string{seen} + ", " + std::to_string(seconds) + ')';
  }
  /// \return the token of the claim that is granted.
  std::string hand_over() {
    const auto first = at.acquire("stock", 1).at(1);
    const auto second = at.acquire("stock", 2).at(1);
    EXPECT_THAT(at.call("release",
                        procedure_fixture::literal("stock") + ", " + procedure_fixture::id(1) + ", " + first),
                ElementsAre(row{"1"}));
    return second;
  }

  procedure_fixture at;
};

TEST_F(mariadb_notifications, notifications_stay_until_they_have_been_seen) {
  const auto token = hand_over();
  const auto connection = open_connection();
  EXPECT_EQ(connection->ask(listen_call()).size(), 1U);
  EXPECT_EQ(connection->ask(listen_call()).size(), 1U);
  const std::string seen =
      "concat(" + procedure_fixture::id(2) + ", unhex(lpad(hex(" + token + "), 16, '0')))";
  EXPECT_THAT(connection->ask(listen_call(seen, 0)), IsEmpty());
  EXPECT_EQ(at.ask("SELECT count(*) FROM {words}"), (procedure_fixture::rows{{"0"}}));
}

TEST_F(mariadb_notifications, a_connection_that_is_not_listening_hinders_nobody) {
  const auto connection =
      open_connection({"root", "", "holdfast"});  // its session is another user's between two calls
  hand_over();
  EXPECT_EQ(connection->ask(listen_call()).size(), 1U);
}

/// What the link has, beside a procedure fixture whose claims are its client's.
class mariadb_listener : public mariadb_notifications {
 protected:
  using notifications = mariadb::listener::notifications;

  mariadb_listener() {
    to.socket = procedure_fixture::server().socket();
    to.user = "holdfast";
    to.password = runtime::password{"secret"};
    to.database = to.schema = "holdfast";
    to.table = at.table();
  }
  void listen() {
    listener_.emplace(to,
                      [this](const owner_id& of, const notifications& received) { take_in(of, received); });
    listener_->serve(client());
    listener_->begin();
  }
  void take_in(const owner_id& of, const notifications& received) {
    EXPECT_EQ(of, client());
    const std::lock_guard hold{mutex};
    received_.insert(received_.end(), received.begin(), received.end());
    changed.notify_all();
  }
  bool hears(std::size_t count) {
    std::unique_lock hold{mutex};
    return changed.wait_for(hold, 14s, [&] { return received_.size() >= count; });
  }
  static owner_id client() {
    owner_id::bytes_type bytes{};
    bytes[1] = 200;
    return owner_id{bytes};
  }
  /// The session that hangs there; "NULL" if there is none.
  std::string hung() { return at.console().value("SELECT IS_USED_LOCK('holdfast:" + client().hex() + "')"); }

  mariadb::settings to;
  std::mutex mutex;
  std::condition_variable changed;
  notifications received_;
  std::optional<mariadb::listener> listener_;
};

/// A lost KILL QUERY would be a notification that comes with the next nap's end, fifteen seconds later.
TEST_F(mariadb_listener, no_notification_is_lost_whenever_it_comes) {
  listen();
  auto holder = at.acquire("stock", 1).at(1);
  constexpr int hand_overs = 300;
  for (int i = 1; i <= hand_overs; ++i) {
    const auto next = at.acquire("stock", i + 1).at(1);
    at.call("release", procedure_fixture::literal("stock") + ", " + procedure_fixture::id(i) + ", " + holder);
    ASSERT_TRUE(hears(static_cast<std::size_t>(i))) << i;
    const std::lock_guard hold{mutex};
    ASSERT_EQ(received_.back().token.value(), static_cast<std::uint64_t>(std::stoll(next)));
    holder = next;
  }
  EXPECT_EQ(received_.size(), static_cast<std::size_t>(hand_overs));  // and none twice
}

TEST_F(mariadb_listener, notifications_of_many_at_once_come_once_each) {
  listen();
  const auto writer = at.acquire("stock", 1).at(1);
  constexpr int readers = 600;  // more than one answer brings
  for (int i = 0; i < readers; ++i) at.acquire("stock", 2 + i, "TRUE", 1);
  at.call("release", procedure_fixture::literal("stock") + ", " + procedure_fixture::id(1) + ", " + writer);
  ASSERT_TRUE(hears(readers));
  std::vector<std::uint64_t> tokens;
  for (const store::notification& n : received_) tokens.push_back(n.token.value());
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  EXPECT_EQ(tokens.size(), static_cast<std::size_t>(readers));
}

TEST_F(mariadb_listener, a_connection_that_was_killed_hangs_itself_up_again) {
  listen();
  std::string former = "NULL";
  expect_soon([&] { return (former = hung()) != "NULL"; });
  at.console().ask("KILL " + former);
  expect_soon([&] {
    const auto now = hung();
    return now != former && now != "NULL";
  });
  hand_over();
  EXPECT_TRUE(hears(1));
}

TEST_F(mariadb_listener, naps_do_not_fill_the_slow_log) {
  auto& server = procedure_fixture::server();
  server.ask("SET GLOBAL log_output = 'TABLE', GLOBAL slow_query_log = 1, GLOBAL long_query_time = 0.001");
  server.ask("TRUNCATE mysql.slow_log");
  listen();
  const auto sleeps = [&] {
    return server.number(
               "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock' AND time_ms > "
               "50 AND id = IS_USED_LOCK('holdfast:" +
               client().hex() + "')") == 1;
  };
  expect_soon(sleeps);
  hand_over();
  ASSERT_TRUE(hears(1));
  expect_soon(sleeps);  // the next; the first has been logged by now, if it ever is
  const auto logged = server.number("SELECT count(*) FROM mysql.slow_log WHERE sql_text LIKE '%listen%'");
  server.ask("SET GLOBAL slow_query_log = 0, GLOBAL long_query_time = 10");
  EXPECT_EQ(logged, 0);
}

TEST_F(mariadb_listener, a_connection_that_was_never_wanted_opens_no_session) {
  const auto before = procedure_fixture::server().status("Connections");
  {
    mariadb::listener listener{to, [](const owner_id&, const notifications&) {}};
    listener.serve(client());
  }
  EXPECT_EQ(procedure_fixture::server().status("Connections"), before);
}

}  // namespace
}  // namespace holdfast::test
