// SPDX-License-Identifier: Apache-2.0
// Clients that are killed or stopped, whose session is ended, whose nodes an operator deletes.

#include "faults/zookeeper/on_zookeeper.hpp"

namespace holdfast::faults {
namespace {

class zookeeper_clients : public on_zookeeper {
 protected:
  /// Short sessions, for those who are to lose them; long ones, for those who are not.
  [[nodiscard]] std::unique_ptr<actor> start_brief() const { return start(server_.url(), "ttl=6000"); }
  [[nodiscard]] std::string lasting() const { return server_.url("?session_timeout=40s"); }
};

TEST_F(zookeeper_clients, killed_while_waiting_let_nobody_in_and_hold_up_nobody) {
  client locks{lasting()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start_brief();
  waiter->tell("hold stock");
  const auto gone = expect_contenders(2)[1];
  client others{lasting()};
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  expect_contenders(3);
  waiter->kill();
  EXPECT_THAT(expect_contenders(2), testing::Not(testing::Contains(gone)));
  // Whoever was behind it has heard of its end by the time that this is answered on the same connection.
  const auto state = others.inspect("stock").value();
  EXPECT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(state.waiters.size(), 1U);
  EXPECT_EQ(next.wait_for(0s), std::future_status::timeout) << "the end of a waiter is no release";
  EXPECT_EQ(held.renew(), renewal::renewed);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(next.get().token(), held_token);
}

TEST_F(zookeeper_clients, stopped_while_holding_are_told_and_do_not_believe_it_again) {
  const auto holder = start_brief();
  const auto first = holder->hold("stock");
  const auto node = expect_contenders(1)[0];
  holder->tell("claim");
  holder->send(SIGSTOP);
  client locks{lasting()};
  auto next = mutex{locks, "stock"}.acquire();
  const auto granted = boot_clock::now();
  EXPECT_GT(next.token(), first);
  holder->send(SIGCONT);
  const auto claimed = hear_answer(*holder);
  ASSERT_TRUE(claimed.starts_with("claimed ")) << claimed;
  EXPECT_LT(std::stoll(claimed.substr(8)), granted.time_since_epoch().count());
  holder->tell("report");
  EXPECT_EQ(hear_answer(*holder), "lost");
  // It lives on, in another session.
  holder->tell("hold other");
  EXPECT_TRUE(hear_token(*holder));
  EXPECT_EQ(next.renew(), renewal::renewed);
  EXPECT_THAT(expect_contenders(1), testing::Not(testing::Contains(node)));
}

TEST_F(zookeeper_clients, stopped_while_waiting_queue_anew) {
  client locks{lasting()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start_brief();
  waiter->tell("hold stock");
  const auto former = expect_contenders(2)[1];
  waiter->send(SIGSTOP);
  expect_contenders(1);  // its session has ended
  client others{lasting()};
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  expect_contenders(2);
  waiter->send(SIGCONT);
  EXPECT_NE(expect_contenders(3)[2], former);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  auto second = next.get();
  EXPECT_GT(second.token(), held_token);
  const auto second_token = second.token();
  EXPECT_FALSE(second.release());
  EXPECT_GT(token_in(waiter->hear()), second_token) << "it came back behind the other";
}

TEST_F(zookeeper_clients, whose_turn_comes_while_they_stand_still_take_it_not_later_than_they_may) {
  client locks{lasting()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start_brief();
  waiter->tell("hold stock");
  expect_contenders(2);
  waiter->send(SIGSTOP);
  EXPECT_FALSE(held.release());
  // For a while the lock is its own, at the server.
  auto next = mutex{locks, "stock"}.acquire();
  waiter->send(SIGCONT);
  expect_contenders(2);
  EXPECT_EQ(next.renew(), renewal::renewed);
  const auto next_token = next.token();
  EXPECT_FALSE(next.release());
  EXPECT_GT(hear_token(*waiter), next_token) << "it believed what came while it stood still";
}

TEST_F(zookeeper_clients, whose_session_ends_while_they_hold_are_told_in_time) {
  const test::stall_meter meter;
  client locks{server_.url(), living(10s)};
  auto held = mutex{locks, "stock"}.acquire();
  auto other = mutex{locks, "other"}.acquire();
  loss stock{held};
  loss others{other};
  end_session_of(expect_contenders(1)[0]);
  const auto deadline = boot_clock::now() + 10s;  // nothing is heard of the session from now on
  for (auto* each : {&stock, &others}) each->expect_by(deadline, meter);
  EXPECT_FALSE(held.held());
  const auto held_token = held.token();
  EXPECT_EQ(held.release(), errc::lost);
  auto again = mutex{locks, "stock"}.acquire();
  EXPECT_GT(again.token(), held_token);
  EXPECT_EQ(again.renew(), renewal::renewed);
  expect_contenders(1);
}

TEST_F(zookeeper_clients, whose_session_ends_while_they_wait_queue_anew) {
  client locks{lasting()};
  auto held = mutex{locks, "stock"}.acquire();
  client others{server_.url(), living(10s)};
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  const auto former = expect_contenders(2)[1];
  end_session_of(former);
  EXPECT_THAT(console_.children("/stock"), testing::Not(testing::Contains(former)));
  EXPECT_NE(expect_contenders(2)[1], former);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(next.get().token(), held_token);
}

TEST_F(zookeeper_clients, whose_node_is_deleted_while_they_wait_queue_anew) {
  client locks{lasting()};
  auto held = mutex{locks, "stock"}.acquire();
  client others{lasting()};
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  for (int times = 0; times < 3; ++times) {
    const auto former = expect_contenders(2)[1];
    console_.remove("/stock/" + former);
    const auto is_back = [&] {
      const auto now = console_.children("/stock");
      return now.size() == 2 && now[1] != former;
    };
    await(is_back, "it does not queue again");
  }
  EXPECT_EQ(held.renew(), renewal::renewed);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(next.get().token(), held_token);
}

// A renewal would come after 20 minutes: what is told is told by the watch.
TEST_F(zookeeper_clients, whose_node_is_deleted_while_they_hold_are_told) {
  client locks{lasting(), living(1h)};
  // One that has waited has its node watched.
  auto first = mutex{locks, "stock"}.acquire();
  client others{lasting(), living(1h)};
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  const auto its_node = "/stock/" + expect_contenders(2)[1];
  await([&] { return server_.four_letter("wchp").find(its_node) != std::string::npos; },
        "its node is not watched");
  EXPECT_FALSE(first.release());
  auto waited = next.get();
  loss at_once{waited};
  console_.remove("/stock/" + expect_contenders(1)[0]);
  at_once.expect_told();
  EXPECT_EQ(waited.release(), errc::lost);

  // One that has not hears of it with its next renewal, be it the keeper's,
  auto held = mutex{locks, "stock", lock_options{}.ttl(6s)}.acquire();
  loss renewed{held};
  console_.remove("/stock/" + expect_contenders(1)[0]);
  renewed.expect_told();
  // or the user's.
  auto reacquired = mutex{locks, "stock"}.acquire();
  console_.remove("/stock/" + expect_contenders(1)[0]);
  EXPECT_EQ(reacquired.renew(), renewal::lost);
  EXPECT_FALSE(reacquired.held());
  // And from then on at once.
  auto watched = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(watched.renew(), renewal::renewed);
  loss later{watched};
  console_.remove("/stock/" + expect_contenders(1)[0]);
  later.expect_told();
}

// The caller that listens finds the connection broken. It cannot connect anew, nor can the others; and the
// link's own thread sleeps while callers listen.
TEST_F(zookeeper_clients, connect_anew_under_several_blocked_callers) {
  client locks{lasting()};
  auto held = mutex{locks, "stock"}.acquire();
  client others{lasting(), client_options{}.locks(lock_options{}.ttl(1h))};  // looks are far apart
  std::vector<std::future<void>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::async(std::launch::async, [&] { mutex{others, "stock"}.acquire().release(); }));
  }
  expect_contenders(4);
  server_.kill();
  server_.start();
  EXPECT_EQ(faults::renew(held), renewal::renewed);
  EXPECT_FALSE(held.release());
  for (auto& each : waiting) each.get();  // else nobody connects anew
}

TEST_F(zookeeper_clients, whose_node_is_deleted_before_a_downgrade_are_no_readers) {
  client locks{lasting()};
  auto held = shared_mutex{locks, "stock"}.acquire();
  console_.remove("/stock/" + expect_contenders(1)[0]);
  EXPECT_EQ(failure_of([&] { held.downgrade(); }).code, errc::lost);
  EXPECT_FALSE(held.held());
  expect_contenders(0);
}

TEST_F(zookeeper_clients, one_of_whose_permits_is_deleted_lose_and_leave_all) {
  client locks{lasting()};
  auto held = counting_semaphore{locks, "stock", 3}.acquire_permits(2);
  EXPECT_EQ(held.renew(), renewal::renewed);
  loss loss_signal{held};
  auto leases = console_.children("/stock/leases");
  ASSERT_EQ(leases.size(), 2U);
  console_.remove("/stock/leases/" + leases[0]);
  loss_signal.expect_told();
  await([&] { return console_.children("/stock/leases").empty(); }, "its node stays");
}

}  // namespace
}  // namespace holdfast::faults
