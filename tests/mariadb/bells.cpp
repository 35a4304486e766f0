// Words and bells: nobody who has been told sleeps on, whenever the ring comes.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

#include "mariadb/desk.hpp"
#include "stores/mariadb/link/listener.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using row = mariadb_console::row;

constexpr auto patience = 60s;
constexpr unsigned cut_short = 1317;

/// Asks again and again until the answer is this. What is asked about happens at the server, which tells
/// nobody.
void expect_soon(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!is_so()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(1ms);
  }
}

class bells : public testing::Test {
 protected:
  /// A bell of the client that all claims of the desk are of, on a plain connection.
  std::unique_ptr<mariadb_console> hang(const mariadb_console::account& who = {"holdfast", "secret",
                                                                               "holdfast"}) {
    auto bell = desk::server().console(who);
    bell->ask("DO GET_LOCK(" + lock + ", 0)");
    return bell;
  }
  std::string listening(std::string_view seen = "''", int seconds = 60) {
    return "CALL " + at.names().quoted("listen") + '(' + desk::id(200) + ", " + std::string{seen} + ", " +
           std::to_string(seconds) + ')';
  }
  /// The token of the word that it hears. A ring ends the call in an error, or only its sleep; servers
  /// differ.
  std::string answer(mariadb_console& bell) {
    try {
      return only(bell.ask(listening()));
    } catch (const mariadb_error& e) {
      EXPECT_EQ(e.number(), cut_short);
    }
    return only(bell.ask(listening()));
  }
  static std::string only(const mariadb_console::rows& words) {
    return words.size() == 1 ? words[0].at(1) : "words: " + std::to_string(words.size());
  }
  void hand_over() {
    const auto first = at.acquire("stock", 1);
    second = at.acquire("stock", 2).at(1);
    EXPECT_THAT(at.call("release", desk::literal("stock") + ", " + desk::id(1) + ", " + first.at(1)),
                ElementsAre(row{"1"}));
  }

  desk at;
  std::string second;  // the token of the claim that is granted by hand_over
  const std::string lock = "concat('holdfast:', lower(hex(" + desk::id(200) + ")))";
};

TEST_F(bells, a_ring_ends_the_sleep_and_the_word_is_there) {
  const auto bell = hang();
  const auto id = bell->value("SELECT CONNECTION_ID()");
  auto sleep = std::async(std::launch::async, [&] { return answer(*bell); });
  expect_soon([&] {
    return desk::server().number(
               "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock' AND id = " +
               id) == 1;
  });
  hand_over();
  ASSERT_EQ(sleep.wait_for(patience / 2), std::future_status::ready);
  EXPECT_EQ(sleep.get(), second);
}

TEST_F(bells, a_ring_between_two_calls_is_not_needed) {
  const auto bell = hang();
  hand_over();
  EXPECT_EQ(answer(*bell), second);
}

TEST_F(bells, words_stay_until_they_have_been_seen) {
  hand_over();
  const auto bell = hang();
  EXPECT_EQ(bell->ask(listening()).size(), 1U);
  EXPECT_EQ(bell->ask(listening()).size(), 1U);
  const std::string seen = "concat(" + desk::id(2) + ", unhex(lpad(hex(" + second + "), 16, '0')))";
  EXPECT_THAT(bell->ask(listening(seen, 0)), IsEmpty());
  EXPECT_EQ(at.ask("SELECT count(*) FROM {words}"), (desk::rows{{"0"}}));
}

// A call of a procedure runs in the name of whoever made it, and so does the ring.
TEST_F(bells, a_bell_of_another_user_is_rung_as_well) {
  const std::string user = at.table() + "_worker";
  desk::server().ask("CREATE USER " + user + "@'%'");
  desk::server().ask("GRANT EXECUTE ON holdfast.* TO " + user + "@'%'");
  const auto bell = hang({user, "", "holdfast"});
  const auto id = bell->value("SELECT CONNECTION_ID()");
  auto sleep = std::async(std::launch::async, [&] { return answer(*bell); });
  expect_soon([&] {
    return desk::server().number(
               "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock' AND id = " +
               id) == 1;
  });
  hand_over();
  ASSERT_EQ(sleep.wait_for(patience / 2), std::future_status::ready);
  EXPECT_EQ(sleep.get(), second);
}

TEST_F(bells, a_bell_that_is_not_listening_hinders_nobody) {
  const auto bell = hang({"root", "", "holdfast"});  // its session is another user's between two calls
  hand_over();
  EXPECT_EQ(bell->ask(listening()).size(), 1U);
}

/// What the link has, beside a desk whose claims are its client's.
class listening : public testing::Test {
 protected:
  using words = mariadb::listener::words;

  listening() {
    to.socket = desk::server().socket();
    to.user = "holdfast";
    to.password = "secret";
    to.database = to.schema = "holdfast";
    to.table = at.table();
  }
  void take_in(const owner_id& of, const words& heard) {
    EXPECT_EQ(of, client());
    const std::lock_guard hold{mutex};
    told.insert(told.end(), heard.begin(), heard.end());
    changed.notify_all();
  }
  bool hears(std::size_t count) {
    std::unique_lock hold{mutex};
    return changed.wait_for(hold, 14s, [&] { return told.size() >= count; });
  }
  static owner_id client() {
    owner_id::bytes_type bytes{};
    bytes[1] = 200;
    return owner_id{bytes};
  }
  bool hangs() {
    return at.console().value("SELECT IS_USED_LOCK('holdfast:" + client().hex() + "')") != "NULL";
  }

  desk at;
  mariadb::settings to;
  std::mutex mutex;
  std::condition_variable changed;
  words told;
};

/// A ring that got lost would be a word that comes with the next nap's end, fifteen seconds later.
TEST_F(listening, no_ring_is_lost_whenever_it_comes) {
  mariadb::listener bell{to, [this](const owner_id& of, const words& heard) { take_in(of, heard); }};
  bell.serve(client());
  bell.begin();
  auto holder = at.acquire("stock", 1).at(1);
  constexpr int hand_overs = 300;
  for (int i = 1; i <= hand_overs; ++i) {
    const auto next = at.acquire("stock", i + 1).at(1);
    at.call("release", desk::literal("stock") + ", " + desk::id(i) + ", " + holder);
    ASSERT_TRUE(hears(static_cast<std::size_t>(i))) << i;
    const std::lock_guard hold{mutex};
    ASSERT_EQ(told.back().second.token.value(), static_cast<std::uint64_t>(std::stoll(next)));
    holder = next;
  }
  EXPECT_EQ(told.size(), static_cast<std::size_t>(hand_overs));  // and none twice
}

TEST_F(listening, words_of_many_at_once_are_told_once_each) {
  mariadb::listener bell{to, [this](const owner_id& of, const words& heard) { take_in(of, heard); }};
  bell.serve(client());
  bell.begin();
  const auto writer = at.acquire("stock", 1).at(1);
  constexpr int readers = 600;  // more than one answer brings
  for (int i = 0; i < readers; ++i) at.acquire("stock", 2 + i, "TRUE", 1);
  at.call("release", desk::literal("stock") + ", " + desk::id(1) + ", " + writer);
  ASSERT_TRUE(hears(readers));
  std::vector<std::uint64_t> tokens;
  for (const auto& [owner, what] : told) tokens.push_back(what.token.value());
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  EXPECT_EQ(tokens.size(), static_cast<std::size_t>(readers));
}

TEST_F(listening, a_bell_that_was_killed_hangs_itself_up_again) {
  mariadb::listener bell{to, [this](const owner_id& of, const words& heard) { take_in(of, heard); }};
  bell.serve(client());
  bell.begin();
  expect_soon([this] { return hangs(); });
  const auto former = at.console().value("SELECT IS_USED_LOCK('holdfast:" + client().hex() + "')");
  at.console().ask("KILL " + former);
  expect_soon([&] {
    const auto now = at.console().value("SELECT IS_USED_LOCK('holdfast:" + client().hex() + "')");
    return now != former && now != "NULL";
  });
  const auto first = at.acquire("stock", 1).at(1);
  at.acquire("stock", 2);
  at.call("release", desk::literal("stock") + ", " + desk::id(1) + ", " + first);
  EXPECT_TRUE(hears(1));
}

TEST_F(listening, naps_do_not_fill_the_slow_log) {
  auto& server = desk::server();
  server.ask("SET GLOBAL log_output = 'TABLE', GLOBAL slow_query_log = 1, GLOBAL long_query_time = 0.001");
  server.ask("TRUNCATE mysql.slow_log");
  mariadb::listener bell{to, [this](const owner_id& of, const words& heard) { take_in(of, heard); }};
  bell.serve(client());
  bell.begin();
  const auto sleeps = [&] {
    return server.number(
               "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock' AND time_ms > "
               "50 AND id = IS_USED_LOCK('holdfast:" +
               client().hex() + "')") == 1;
  };
  expect_soon(sleeps);
  const auto first = at.acquire("stock", 1).at(1);
  at.acquire("stock", 2);
  at.call("release", desk::literal("stock") + ", " + desk::id(1) + ", " + first);
  ASSERT_TRUE(hears(1));
  expect_soon(sleeps);  // the next; the first has been logged by now, if it ever is
  const auto logged = server.number("SELECT count(*) FROM mysql.slow_log WHERE sql_text LIKE '%listen%'");
  server.ask("SET GLOBAL slow_query_log = 0, GLOBAL long_query_time = 10");
  EXPECT_EQ(logged, 0);
}

TEST_F(listening, a_bell_that_was_never_wanted_opens_no_session) {
  const auto before = desk::server().status("Connections");
  {
    mariadb::listener bell{to, [](const owner_id&, const words&) {}};
    bell.serve(client());
  }
  EXPECT_EQ(desk::server().status("Connections"), before);
}

}  // namespace
}  // namespace holdfast::test
