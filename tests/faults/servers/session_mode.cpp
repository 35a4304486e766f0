// SPDX-License-Identifier: Apache-2.0
// mode=session: a lock ends with its client's session at the server, and not before.

#include <csignal>
#include <future>
#include <stop_token>
#include <thread>

#include "faults/servers/servers.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

using test::direction;
using test::fault_proxy;

class session_mode : public on_each_database {
 protected:
  explicit session_mode(const server_settings& settings = {}) : on_each{settings} {}

  [[nodiscard]] std::string by_session(const std::string& timeout = "30s") const {
    return url("?mode=session&session_timeout=" + timeout);
  }
  /// Whose end nobody waits for.
  [[nodiscard]] std::string by_long_session() const { return by_session("1h"); }
};

// Nobody has to wait for a timeout, nor for a ttl: the server sees the socket closed.
TEST_P(session_mode, of_clients_that_are_killed_end_at_once) {
  client locks{by_long_session()};
  const auto holder = start(by_long_session());
  const auto first = holder->hold("stock ttl=3600000");
  auto next = std::async(std::launch::async, [&] { return mutex{locks, "stock"}.acquire(); });
  expect_waiter(locks);
  holder->kill();
  const lease held = next.get();
  EXPECT_GT(held.token(), first);
}

TEST_P(session_mode, that_are_over_hold_nothing_that_is_shown_or_taken_for_held) {
  client locks{by_session()};
  const auto holder = start(by_session());
  holder->hold("stock ttl=3600000");
  EXPECT_EQ(locks.inspect("stock")->holders.size(), 1U);
  holder->kill();
  await([&] { return server_->living_claimants() == 0; }, "the server has not noticed");
  EXPECT_EQ(server_->claims(), 1);
  EXPECT_TRUE(locks.inspect("stock")->holders.empty());
  EXPECT_TRUE(locks.list().empty());
  EXPECT_EQ(locks.force_release("stock"), 0U);
  const auto again = start(by_session());
  again->hold("seats permits=2/3 ttl=3600000");
  again->kill();
  await([&] { return server_->living_claimants() == 0; }, "the server has not noticed");
  EXPECT_TRUE(counting_semaphore(locks, "seats", 5).try_acquire()) << "its capacity was of the dead";
}

TEST_P(session_mode, of_clients_that_are_stopped_end_when_these_believe_it_too) {
  client locks{by_session()};
  const auto sleeper = start(by_session("2s"));
  sleeper->hold("stock ttl=3600000");
  sleeper->tell("claim");
  sleeper->send(SIGSTOP);
  const auto next = mutex{locks, "stock"}.acquire();
  const auto taken = boot_clock::now();
  sleeper->send(SIGCONT);
  const std::string said = hear_answer(*sleeper);
  ASSERT_TRUE(said.starts_with("claimed ")) << said;
  EXPECT_LT(std::stoll(said.substr(8)), taken.time_since_epoch().count());
  const std::string report = sleeper->ask("report");  // or what it has told of the loss by itself
  EXPECT_TRUE(report.starts_with("lost")) << report;
  EXPECT_TRUE(next.held());
}

TEST_P(session_mode, that_an_operator_ends_are_lost_and_told_at_once) {
  client locks{by_long_session()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(1h)}.acquire();
  auto other = mutex{locks, "other", lock_options{}.ttl(1h)}.acquire();
  loss loss_signal{held};
  const auto waiter = start(by_session());
  waiter->tell("hold stock ttl=3600000");
  expect_waiter(locks);
  EXPECT_EQ(server_->living_claimants(), 2);
  server_->end_sessions();
  loss_signal.expect_told();
  EXPECT_FALSE(other.held()) << "it was of the same session";
  EXPECT_GT(hear_token(*waiter), held.token()) << "who waits queues again, in a new session";
  EXPECT_TRUE(mutex(locks, "other").try_lock_for(60s));
  EXPECT_EQ(held.release(), errc::lost);
  await([&] { return server_->claims() <= 2; }, "what the former sessions held is still there");
}

// Its successor may grant already. It answers those who read, and each answer shows that the session lives.
TEST_P(session_mode, on_a_server_that_is_set_read_only_end_even_if_their_client_only_reads) {
  client locks{by_session("2s")};
  auto held = mutex{locks, "stock", lock_options{}.ttl(1h)}.acquire();
  loss loss_signal{held};
  server_->set_read_only(true);
  std::jthread reader{[&](const std::stop_token& end) {
    while (!end.stop_requested() && held.held()) static_cast<void>(failure_of([&] { (void)locks.list(); }));
  }};
  EXPECT_EQ(loss_signal.wait().reason, errc::lost);
}

// Also what nobody waits for, and would come by.
TEST_P(session_mode, are_cleared_up_after_by_the_next_one_of_the_client) {
  client locks{by_session()};
  std::vector<lease> many;
  for (int i = 0; i < 20; ++i) many.push_back(mutex{locks, "name " + std::to_string(i)}.acquire());
  EXPECT_EQ(server_->claims(), 20);
  EXPECT_EQ(server_->living_claimants(), 1);
  server_->end_sessions();
  await([&] { return server_->claims() == 0; }, "it leaves something");
}

TEST_P(session_mode, end_with_the_server_and_those_who_wait_go_on_waiting) {
  client locks{by_session()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(1h)}.acquire();
  loss loss_signal{held};
  const auto waiter = start(by_session());
  waiter->tell("hold stock ttl=3600000 retry=60000");
  expect_waiter(locks);
  server_->kill();
  loss_signal.expect_told();
  server_->start();
  EXPECT_GT(hear_token(*waiter), held.token());
}

// Whoever cannot hear that its session has ended knows until when it may believe in it.
TEST_P(session_mode, behind_lines_that_go_mute_are_given_up_before_others_get_in) {
  for (const auto way : {direction::to_server, direction::to_client}) {
    fault_proxy line{server_->port()};
    client far{server_->url(line.port(), "?mode=session&session_timeout=2s")};
    client near{by_session()};
    auto held = mutex{far, "stock", lock_options{}.ttl(1h)}.acquire();
    loss loss_signal{held};
    line.interfere(way, {.swallow = true});
    auto next = std::async(std::launch::async, [&] {
      lease got = mutex{near, "stock"}.acquire();
      return std::pair{boot_clock::now(), std::move(got)};
    });
    loss_signal.expect_told();
    line.cut_all(test::ending::silence);
    EXPECT_GT(next.get().first, held.deadline());
  }
}

TEST_P(session_mode, queue_with_those_whose_locks_have_a_ttl) {
  client with_ttl{url()};
  client with_session{by_session()};
  auto first = mutex{with_ttl, "stock"}.acquire();
  const auto second = start(by_session());
  second->tell("hold stock");
  await([&] { return with_ttl.inspect("stock")->waiters.size() == 1; }, "the second does not wait");
  const auto third = start(url());
  // It is told when it has become the first; else it would look after 20 minutes.
  third->tell("hold stock ttl=3600000");
  await([&] { return with_session.inspect("stock")->waiters.size() == 2; }, "the third does not wait");
  const auto first_token = first.token();
  EXPECT_FALSE(first.release());
  const auto token = hear_token(*second);
  EXPECT_GT(token, first_token);
  EXPECT_FALSE(mutex(with_ttl, "stock").try_lock());
  EXPECT_FALSE(mutex(with_session, "stock").try_lock());
  second->kill();
  EXPECT_GT(hear_token(*third), token);
  EXPECT_FALSE(mutex(with_session, "stock").try_lock());
}

TEST_P(session_mode, that_are_over_are_handed_nothing) {
  client locks{by_session()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto victim = start(by_session());
  victim->tell("hold stock");
  await([&] { return locks.inspect("stock")->waiters.size() == 1; }, "the first does not wait");
  const auto next = start(by_session());
  next->tell("hold stock");
  await([&] { return locks.inspect("stock")->waiters.size() == 2; }, "the second does not wait");
  victim->kill();
  await([&] { return server_->living_claimants() == 2; }, "the server has not noticed");
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  // In the very same call: the next notification is that one's.
  EXPECT_EQ(
      server_->number("SELECT count(*) FROM holdfast_locks_claims c JOIN holdfast_locks l ON c.token <= "
                      "l.granted AND c.name = l.name"),
      1);
  EXPECT_GT(hear_token(*next), held_token);
}

HOLDFAST_ON_EACH_SERVER(session_mode, database_kinds, any_kind<database>);

class session_mode_and_clocks : public session_mode {
 protected:
  session_mode_and_clocks() : session_mode{{.own_clock = true}} {}
};

TEST_P(session_mode_and_clocks, have_nothing_to_do_with_one_another) {
  client locks{by_session()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(by_session());
  waiter->tell("hold stock");
  expect_waiter(locks);
  for (const auto ahead : {24h, -24h}) {
    server_->set_clock(ahead);
    EXPECT_FALSE(mutex(locks, "stock").try_lock());
    EXPECT_EQ(held.renew(), renewal::renewed);
  }
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
}

HOLDFAST_ON_EACH_SERVER(session_mode_and_clocks, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
