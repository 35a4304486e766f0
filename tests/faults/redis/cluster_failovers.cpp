// SPDX-License-Identifier: Apache-2.0
// Failovers of shards of a Redis Cluster: a lease that the new primary knows goes on, another one is reported
// as lost, and the other shards go on.

#include <array>
#include <cstdio>
#include <future>

#include "faults/redis/cluster.hpp"

namespace holdfast::faults {
namespace {

class redis_cluster_failovers : public on_cluster {
 protected:
  explicit redis_cluster_failovers(const cluster::settings& settings = {}) : on_cluster{settings} {}

  [[nodiscard]] std::size_t shard_of(const std::string& name) { return nodes_.shard_of(owner_of(name)); }

  /// A writer holds and another one waits, readers and holders of permits hold, all of them on one shard.
  /// They go on after a failover.
  template <class Failover>
  void expect_leases_to_survive(Failover fail_over) {
    client locks{nodes_.url()};
    client others{nodes_.url()};
    const std::size_t owner = owner_of("stock");
    auto held = mutex{locks, "stock", lasting()}.acquire();
    auto waiter =
        std::async(std::launch::async, [&] { return mutex{others, "stock", notified()}.acquire(); });
    expect_waiter(locks);
    const std::string second = name_on(owner);
    auto reader = shared_mutex{locks, second, lasting()}.acquire_shared();
    auto other_reader = shared_mutex{others, second, lasting()}.acquire_shared();
    nodes_.replicate(nodes_.shard_of(owner));
    fail_over(owner);
    nodes_.await_failover_from(owner);
    expect_known(held);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(renew(reader), renewal::renewed);
    EXPECT_EQ(renew(other_reader), renewal::renewed);
    const auto token = held.token();
    expect_released(held);
    auto next = waiter.get();
    EXPECT_GT(next.token(), token);
    expect_known(next);
    expect_released(next);
    expect_released(reader);
    expect_released(other_reader);
  }
};

TEST_F(redis_cluster_failovers, that_a_replica_is_asked_for_end_no_lease) {
  expect_leases_to_survive([&](std::size_t owner) { nodes_.fail_over(nodes_.shard_of(owner)); });
}

TEST_F(redis_cluster_failovers, after_a_crash_end_no_lease_that_is_replicated) {
  expect_leases_to_survive([&](std::size_t owner) { nodes_.node(owner).kill(); });
}

TEST_F(redis_cluster_failovers, from_a_primary_that_stands_still_end_no_lease) {
  std::size_t former = 0;
  expect_leases_to_survive([&](std::size_t owner) {
    former = owner;
    nodes_.node(owner).stop();
  });
  client locks{nodes_.url()};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  nodes_.node(former).go_on();
  nodes_.await_replica(former);
  nodes_.await_ok();
  expect_known(held);
}

TEST_F(redis_cluster_failovers, there_and_back_end_no_lease) {
  client locks{nodes_.url()};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  const std::size_t shard = shard_of("stock");
  for (int turn = 0; turn < 3; ++turn) {
    const std::size_t former = nodes_.primary_index(shard);
    nodes_.replicate(shard);
    nodes_.fail_over(shard);
    expect_known(held);
    nodes_.await_replica(former);
    nodes_.await_ok();
  }
  expect_released(held);
}

// Of which the client knows nothing when its lease has to be renewed.
TEST_F(redis_cluster_failovers, are_noticed_by_a_client_that_only_renews) {
  client locks{nodes_.url()};
  auto held = mutex{locks, "stock", lasting().ttl(15s)}.acquire();
  const std::size_t former = owner_of("stock");
  nodes_.replicate(nodes_.shard_of(former));
  nodes_.node(former).kill();
  nodes_.await_failover_from(former);
  await_renewals(held);
  expect_released(held);
}

TEST_F(redis_cluster_failovers, lose_leases_that_were_not_replicated_by_their_deadline) {
  const test::stall_meter meter;
  client locks{nodes_.url()};
  client others{nodes_.url()};
  EXPECT_TRUE(locks.list().empty() && others.list().empty()) << "and they are connected";
  const std::size_t former = owner_of("stock");
  const std::size_t replica = nodes_.replicas_of(former).at(0);
  nodes_.node(replica).stop();
  nodes_.node(former).ask({"CLIENT", "KILL", "TYPE", "replica"});
  auto held = mutex{locks, "stock", lasting().ttl(20s)}.acquire();
  loss end{held};
  nodes_.node(former).kill();
  nodes_.node(replica).go_on();
  nodes_.await_failover_from(former);
  end.expect_by(held.deadline(), meter);
  EXPECT_FALSE(held.held());
  auto next = mutex{others, "stock", lasting()}.acquire();
  EXPECT_GT(next.token(), held.token());
  expect_known(next);
}

// By default a cluster refuses every request while a shard is down.
TEST_F(redis_cluster_failovers, are_waited_for_by_callers_on_all_shards) {
  client locks{nodes_.url()};
  const auto names = names_everywhere();
  for (const std::string& each : names) EXPECT_TRUE(mutex(locks, each, lasting()).try_lock()) << each;
  const std::size_t shard = shard_of("stock");
  const auto killed = boot_clock::now();
  const std::size_t former = nodes_.kill_primary(shard);
  std::array<std::future<boot_clock::duration>, 3> granted;
  for (std::size_t i = 0; i < names.size(); ++i) {
    granted.at(i) = std::async(std::launch::async, [&, i] {
      mutex{locks, beside(names[i], "again"), lasting()}.lock();
      return boot_clock::now() - killed;
    });
  }
  auto on_its_shard = std::async(std::launch::async, [&] {
    static_cast<void>(mutex{locks, "stock", lasting()}.acquire());
    return boot_clock::now() - killed;
  });
  for (auto& each : granted) each.get();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(on_its_shard.get()).count();
  RecordProperty("ms_from_crash_to_grant", static_cast<int>(took));
  std::printf("%lld ms from the crash to the next grant\n", static_cast<long long>(took));
  nodes_.await_failover_from(former);
}

TEST_F(redis_cluster_failovers, lead_new_clients_to_the_new_primary) {
  const std::size_t former = owner_of("stock");
  nodes_.node(former).kill();
  nodes_.await_failover_from(former);
  client locks{nodes_.url()};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  expect_known(held);
  nodes_.node(former).start();
  nodes_.await_replica(former);
  client more{nodes_.url_at({nodes_.port(former)})};
  EXPECT_FALSE(mutex(more, "stock", lasting()).try_lock())
      << "the former primary alone is named, and leads on";
}

class redis_cluster_without_full_coverage : public redis_cluster_failovers {
 protected:
  redis_cluster_without_full_coverage()
      : redis_cluster_failovers{{.lines = {"cluster-require-full-coverage no"}}} {}
};

TEST_F(redis_cluster_without_full_coverage, goes_on_where_a_shard_is_down_for_good) {
  client locks{nodes_.url(), client_options{}.locks(lasting())};
  const std::size_t down = owner_of("stock");
  std::vector<lease> held;
  std::vector<std::string> names;
  for (const std::string& each : names_everywhere()) {
    if (owner_of(each) == down) continue;
    names.push_back(each);
    held.push_back(mutex{locks, each, renewed()}.acquire());
  }
  nodes_.node(nodes_.replicas_of(down).at(0)).kill();
  nodes_.node(down).kill();
  // While each of those that are held is renewed twice.
  std::vector<boot_clock::time_point> renewed_until(held.size());
  const auto are_renewed = [&] {
    bool all = true;
    for (std::size_t i = 0; i < held.size(); ++i)
      all &= held[i].deadline() > renewed_until[i] || !held[i].held();
    return all;
  };
  int renewals = 0;
  int grants = 0;
  while (renewals < 3) {
    if (are_renewed()) {
      ++renewals;
      for (std::size_t i = 0; i < held.size(); ++i) renewed_until[i] = held[i].deadline();
    }
    for (const std::string& each : names) {
      // Nobody is in the way, and nothing has to be tried again.
      mutex lock{locks, beside(each, "again"), lasting()};
      const auto failed = failure_of([&] {
        ASSERT_TRUE(lock.try_lock_for(60s));
        lock.unlock();
      });
      EXPECT_FALSE(failed.code) << failed.text;
      ++grants;
    }
  }
  EXPECT_GT(grants, 0);
  for (lease& each : held) {
    EXPECT_TRUE(each.held()) << each.name();
    expect_released(each);
  }
  const auto refused = known_failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
}

}  // namespace
}  // namespace holdfast::faults
