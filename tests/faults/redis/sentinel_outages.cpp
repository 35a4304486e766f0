// SPDX-License-Identifier: Apache-2.0
// Sentinels that are gone, stand still or come back, while the primary lives: nothing is lost.

#include <future>

#include "faults/redis/sentinel.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

class redis_sentinel_outages : public on_sentinels {
 protected:
  /// A client that has been connected before goes on, blocked callers and waiters included.
  template <class Outage>
  void expect_nothing_lost(Outage begin) {
    client locks{group_.url()};
    client others{group_.url()};
    auto held = mutex{locks, "stock", lasting().ttl(9s)}.acquire();
    const auto token = held.token();
    auto waiter = std::async(std::launch::async, [&] { return mutex{others, "stock", lasting()}.acquire(); });
    expect_waiter(locks);
    begin();
    // It is renewed, and outlives the ttl that it had.
    const auto end = held.deadline();
    await([&] { return boot_clock::now() > end || !held.held(); }, "time stands still");
    EXPECT_TRUE(held.held());
    EXPECT_EQ(renew(held), renewal::renewed);
    EXPECT_EQ(held.token(), token);
    expect_released(held);
    auto next = waiter.get();
    EXPECT_GT(next.token(), token);
    expect_released(next);
  }
};

TEST_F(redis_sentinel_outages, of_one_lose_nothing_and_new_clients_find_the_primary) {
  expect_nothing_lost([&] { group_.sentinel(0).kill(); });
  client locks{group_.url()};
  EXPECT_TRUE(mutex(locks, "other", patient()).try_lock());
}

TEST_F(redis_sentinel_outages, of_two_lose_nothing_and_new_clients_find_the_primary) {
  expect_nothing_lost([&] {
    group_.sentinel(0).kill();
    group_.sentinel(2).kill();
  });
  client locks{group_.url()};
  EXPECT_TRUE(mutex(locks, "other", patient()).try_lock());
}

TEST_F(redis_sentinel_outages, of_all_lose_nothing) {
  expect_nothing_lost([&] {
    for (std::size_t i = 0; i < group::count; ++i) group_.sentinel(i).kill();
  });
  const auto refused = known_failure_of([&] {
    client locks{group_.url()};
    mutex{locks, "other", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::unavailable);
  for (const std::uint16_t port : group_.sentinel_ports()) {
    EXPECT_THAT(refused.text, testing::HasSubstr("127.0.0.1:" + std::to_string(port) + ": cannot connect"));
  }
}

TEST_F(redis_sentinel_outages, of_all_that_stand_still_lose_nothing) {
  expect_nothing_lost([&] {
    for (std::size_t i = 0; i < group::count; ++i) group_.sentinel(i).stop();
  });
}

// Its part of the time to connect is bounded, and it is not asked first a second time.
TEST_F(redis_sentinel_outages, of_the_first_that_stands_still_leave_time_for_the_others) {
  auto ports = group_.sentinel_ports();
  test::fault_proxy still{ports.at(0)};
  still.interfere(test::direction::to_server, {.swallow = true});
  ports.at(0) = still.port();
  client locks{group_.url_at(ports, "?connect_timeout=30s"), client_options{}.locks(lasting())};
  EXPECT_TRUE(mutex(locks, "stock").try_lock());
  const auto connections = still.taken();
  EXPECT_GT(connections, 0U);
  const auto former = group_.primary_index();
  group_.server(former).ask({"CLIENT", "KILL", "TYPE", "normal"});
  group_.server(former).ask({"CLIENT", "KILL", "TYPE", "pubsub"});
  mutex{locks, "other"}.lock();
  EXPECT_EQ(still.taken(), connections) << "the one that stands still was asked first again";
}

TEST_F(redis_sentinel_outages, end_for_a_client_that_has_seen_them) {
  client locks{group_.url()};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  for (std::size_t i = 0; i < group::count; ++i) {
    await([&] { return subscribers(group_.sentinel(i)) == 1 || i > 0; }, "the client has not subscribed");
    group_.sentinel(i).kill();
  }
  for (std::size_t i = 0; i < group::count; ++i) group_.sentinel(i).start();
  await(
      [&] {
        int all = 0;
        for (std::size_t i = 0; i < group::count; ++i) all += subscribers(group_.sentinel(i));
        return all == 1;
      },
      "the client does not subscribe again");
  group_.replicate();
  group_.primary().kill();
  expect_known(held);
  expect_released(held);
}

// However many locks, failovers and Sentinels there are.
TEST_F(redis_sentinel_outages, cost_no_thread) {
  client plain{group_.server(0).url()};
  EXPECT_TRUE(plain.list().empty()) << "and it is connected";
  const auto before = threads();
  std::ptrdiff_t of_one = 0;
  {
    const client another{group_.server(0).url()};
    EXPECT_TRUE(another.list().empty()) << "and it is connected";
    of_one = threads() - before;
  }
  await([&] { return threads() == before; }, "a client leaves threads behind");
  client locks{group_.url()};
  std::vector<lease> held;
  for (int i = 0; i < 50; ++i)
    held.push_back(mutex{locks, "stock/" + std::to_string(i), lasting()}.acquire());
  await([&] { return subscribers(group_.sentinel(0)) == 1 && threads() == before + of_one; },
        "a client of Sentinels has more threads than another one");
  group_.replicate();
  group_.fail_over();
  group_.await_clients(1);
  for (lease& each : held) EXPECT_EQ(renew(each), renewal::renewed);
  await([&] { return threads() == before + of_one; }, "a failover leaves threads behind");
}

}  // namespace
}  // namespace holdfast::faults
