// SPDX-License-Identifier: Apache-2.0
// Failovers by Sentinels: a lease that the new primary knows goes on without a gap, another one is reported
// as lost.

#include <future>

#include "faults/redis/sentinel.hpp"

namespace holdfast::faults {
namespace {

class redis_sentinel_failovers : public on_sentinels {
 protected:
  using on_sentinels::on_sentinels;

  /// No replica has the lease when the primary crashes: its connections to them are closed before the grant.
  lease acquire_and_crash(client& locks, const lock_options& options) {
    crashed_ = group_.primary_index();
    const auto each_replica = [this](auto action) {
      for (std::size_t i = 0; i < group::count; ++i) {
        if (i != crashed_) action(group_.server(i));
      }
    };
    each_replica([](test::redis_server& replica) { replica.stop(); });
    group_.server(crashed_).ask({"CLIENT", "KILL", "TYPE", "replica"});
    lease held = mutex{locks, "stock", options}.acquire();
    group_.server(crashed_).kill();
    each_replica([](test::redis_server& replica) { replica.go_on(); });
    return held;
  }
  std::size_t crashed_ = group::count;

  /// Somebody holds, and another one waits. Both go on after a failover.
  template <class Failover>
  void expect_lease_to_survive(Failover fail_over) {
    client locks{group_.url()};
    client others{group_.url()};
    std::future<lease>
        waiter;  // before the lease: it ends when that is given back, also where this test fails
    auto held = mutex{locks, "stock", lasting()}.acquire();
    waiter = std::async(std::launch::async, [&] { return mutex{others, "stock", lasting()}.acquire(); });
    expect_waiter(locks);
    group_.replicate();
    const auto before = group_.epoch();
    fail_over();
    group_.await_failover_after(before);
    group_.await_clients(2);
    expect_known(held);
    EXPECT_TRUE(held.held());
    const auto token = held.token();
    expect_released(held);
    auto next = waiter.get();
    EXPECT_GT(next.token(), token);
    expect_known(next);
  }
};

TEST_F(redis_sentinel_failovers, that_a_sentinel_is_asked_for_end_no_lease) {
  expect_lease_to_survive([&] { group_.fail_over(); });
}

// Without a word to the Sentinels. They choose a primary of their own when the former one stays a replica.
TEST_F(redis_sentinel_failovers, that_the_primary_is_asked_for_end_no_lease) {
  expect_lease_to_survive([&] { ASSERT_EQ(group_.primary().ask({"FAILOVER"}), "OK"); });
}

TEST_F(redis_sentinel_failovers, after_a_crash_of_the_primary_end_no_lease_that_is_replicated) {
  expect_lease_to_survive([&] { group_.primary().kill(); });
}

TEST_F(redis_sentinel_failovers, from_a_primary_that_stands_still_end_no_lease_and_nobody_returns_to_it) {
  const auto former = group_.primary_index();
  expect_lease_to_survive([&] { group_.server(former).stop(); });
  client locks{group_.url()};
  auto held = mutex{locks, "other", lasting()}.acquire();
  group_.server(former).go_on();
  group_.await_replica(former);
  expect_known(held, "other");
}

TEST_F(redis_sentinel_failovers, there_and_back_end_no_lease) {
  client locks{group_.url()};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  for (int turn = 0; turn < 3; ++turn) {
    group_.replicate();
    group_.fail_over();
    group_.await_clients(1);
    expect_known(held);
  }
  expect_released(held);
}

// A connection that is idle does not find out by itself: the former primary says nothing.
TEST_F(redis_sentinel_failovers, are_noticed_by_clients_that_send_nothing) {
  client locks{group_.url("?answer_timeout=1h&connect_timeout=1h")};
  EXPECT_TRUE(locks.list().empty()) << "and it is connected";
  await([&] { return subscribers(group_.sentinel(0)) == 1; }, "the client has not subscribed");
  const auto former = group_.primary_index();
  group_.server(former).stop();
  group_.await_failover_from(former);
  group_.await_clients(1);
  auto held = mutex{locks, "stock", lasting()}.acquire();
  expect_known(held);
}

TEST_F(redis_sentinel_failovers, lose_leases_that_were_not_replicated_by_their_deadline) {
  const test::stall_meter meter;
  client locks{group_.url()};
  client others{group_.url()};
  EXPECT_TRUE(locks.list().empty() && others.list().empty()) << "and they are connected";
  auto held = acquire_and_crash(locks, lasting().ttl(20s));
  loss end{held};
  group_.await_failover_from(crashed_);
  end.expect_by(held.deadline(), meter);
  EXPECT_FALSE(held.held());
  auto next = mutex{others, "stock", lasting()}.acquire();
  EXPECT_GT(next.token(), held.token());
  expect_known(next);
}

TEST_F(redis_sentinel_failovers, with_the_guard_let_nobody_in_beside_a_lease_that_was_not_replicated) {
  group_.primary().forget_start();
  group_.replicate();
  const std::string url = group_.guarded_url("?failover_guard=10s");
  const auto brief = lasting().ttl(10s);
  client locks{url};
  client others{url};
  EXPECT_TRUE(mutex(others, "other", brief).try_lock()) << "the guard is on already";
  auto held = acquire_and_crash(locks, brief);
  group_.await_failover_from(crashed_);
  const auto next = mutex{others, "stock", brief}.acquire();
  EXPECT_FALSE(held.held()) << "two hold";
  EXPECT_GT(next.token(), held.token());
}

TEST_F(redis_sentinel_failovers, lead_new_clients_to_the_new_primary) {
  const auto former = group_.primary_index();
  group_.server(former).kill();
  group_.await_failover_from(former);
  client locks{group_.url()};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  expect_known(held);
  group_.server(former).start();
  group_.await_replica(former);
  client more{group_.url()};
  EXPECT_FALSE(mutex(more, "stock").try_lock());
}

// For everybody else it is gone, and it does not know.
class redis_sentinel_partitions : public redis_sentinel_failovers {
 protected:
  redis_sentinel_partitions() : redis_sentinel_failovers{{.on_lines = true}} {}

  void cut_off(std::size_t server) {
    for (const auto way : {test::direction::to_server, test::direction::to_client})
      group_.line(server).interfere(way, {.swallow = true});
  }
};

TEST_F(redis_sentinel_partitions, of_the_primary_from_everybody_end_no_lease) {
  const auto former = group_.primary_index();
  client locks{group_.url("?answer_timeout=1h")};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  group_.replicate();
  cut_off(former);
  group_.await_failover_from(former);
  group_.await_clients(1);
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_TRUE(group_.server(former).ask({"ROLE"}).starts_with("master")) << "it would answer";
  EXPECT_FALSE(mutex(locks, "stock").try_lock());
  group_.line(former).heal();
  group_.await_replica(former);
  EXPECT_EQ(renew(held), renewal::renewed);
  group_.replicate();
  // And back, where the roles are as at first.
  const auto second = group_.primary_index();
  cut_off(second);
  group_.await_failover_from(second);
  group_.await_clients(1);
  EXPECT_EQ(renew(held), renewal::renewed);
  expect_released(held);
}

}  // namespace
}  // namespace holdfast::faults
