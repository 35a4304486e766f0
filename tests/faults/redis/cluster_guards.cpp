// SPDX-License-Identifier: Apache-2.0
// The failover guard in a Redis Cluster: each primary has its own, with a marker in the last of its slots.

#include <algorithm>

#include "faults/redis/cluster.hpp"

namespace holdfast::faults {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class redis_cluster_guard : public on_cluster {
 protected:
  static constexpr auto guard = 6s;
  static lock_options brief() {
    return lock_options{}.ttl(guard).retry(retry_policy{}.limit(120s).longest(100ms));
  }
  [[nodiscard]] std::string url() const { return nodes_.guarded_url("?failover_guard=6s"); }

  explicit redis_cluster_guard(const cluster::settings& settings = {}) : on_cluster{settings} {
    // The servers have just started, which has a guard of its own.
    client first{url()};
    for (const std::string& each : names_everywhere())
      static_cast<void>(mutex{first, each, brief()}.acquire());
    for (std::size_t shard = 0; shard < 3; ++shard) {
      if (settings.replicas != 0) nodes_.replicate(shard);
    }
  }

  static void expect_pause(client& locks, const std::string& name, const std::string& cause) {
    const auto paused = known_failure_of([&] { static_cast<void>(mutex{locks, name, brief()}.try_lock()); });
    EXPECT_EQ(paused.code, errc::unavailable) << paused.text;
    EXPECT_THAT(paused.text,
                AllOf(HasSubstr(cause), HasSubstr("grants nothing new for"), HasSubstr("failover_guard")));
  }
  /// At once: no server has to wait.
  static void expect_grants(client& locks, const std::string& name) {
    const auto refused = failure_of([&] { EXPECT_TRUE(mutex(locks, name, brief()).try_lock()) << name; });
    EXPECT_FALSE(refused.code) << name << ": " << refused.text;
  }
  /// Then each connection is asked again before its next request.
  static void await_next_question() { outlast(1100ms); }
};

TEST_F(redis_cluster_guard, costs_the_other_shards_and_holders_that_the_replica_knows_nothing) {
  client locks{url()};
  const std::size_t former = owner_of("stock");
  std::vector<std::string> others;
  for (const std::string& each : names_everywhere()) {
    if (owner_of(each) != former) others.push_back(each);
  }
  auto held = mutex{locks, "stock", lasting().ttl(guard)}.acquire();
  const std::string free = name_on(former);
  nodes_.replicate(nodes_.shard_of(former));
  const auto begin = boot_clock::now();
  nodes_.fail_over(nodes_.shard_of(former));
  EXPECT_EQ(renew(held), renewal::renewed);
  client fresh{url()};
  expect_pause(fresh, free, "became the primary");
  expect_pause(locks, free, "became the primary");
  for (const std::string& each : others) {
    expect_grants(locks, each);
    expect_grants(fresh, each);
  }
  mutex next{locks, free, brief()};
  next.lock();
  EXPECT_GT(boot_clock::now(), begin + guard);
  EXPECT_TRUE(held.held());
  client late{url()};
  expect_grants(late, beside(free, "again"));
  expect_released(held);
}

TEST_F(redis_cluster_guard, lets_nobody_in_beside_a_lease_that_was_not_replicated) {
  client locks{url()};
  client others{url()};
  const std::size_t former = owner_of("stock");
  const std::size_t replica = nodes_.replicas_of(former).at(0);
  nodes_.node(replica).stop();
  nodes_.node(former).ask({"CLIENT", "KILL", "TYPE", "replica"});
  auto held = mutex{locks, "stock", brief()}.acquire();
  nodes_.node(former).kill();
  nodes_.node(replica).go_on();
  const auto next = mutex{others, "stock", brief()}.acquire();
  EXPECT_FALSE(held.held()) << "two hold";
  EXPECT_GT(next.token(), held.token());
}

class redis_cluster_guard_marker : public redis_cluster_guard {
 protected:
  redis_cluster_guard_marker() : redis_cluster_guard{primaries()} {}

  [[nodiscard]] int last_slot_of(std::size_t node) {
    int last = -1;
    for (const auto& each : nodes_.view_of(node).slots()) {
      if (each.owner == nodes_.id_of(node)) last = std::max(last, each.last);
    }
    return last;
  }
};

TEST_F(redis_cluster_guard_marker, that_moves_to_another_server_begins_no_guard) {
  client locks{url()};
  const std::vector<std::string> names = names_everywhere();
  for (const std::string& each : names) expect_grants(locks, each);
  for (const std::size_t from : {0U, 1U, 2U}) {
    nodes_.move_slot(last_slot_of(from), (from + 1) % 3);
    for (const std::string& each : names) expect_grants(locks, beside(each, "after " + std::to_string(from)));
    await_next_question();
    for (const std::string& each : names) expect_grants(locks, beside(each, "later " + std::to_string(from)));
  }
}

TEST_F(redis_cluster_guard_marker, that_has_moved_begins_no_guard_for_a_client_that_comes_then) {
  client locks{url()};
  const std::vector<std::string> names = names_everywhere();
  for (const std::string& each : names) expect_grants(locks, each);
  nodes_.move_slot(last_slot_of(0), 1);
  nodes_.move_slot(last_slot_of(2), 0);
  for (const std::string& each : names) static_cast<void>(failure_of([&] { (void)locks.inspect(each); }));
  await_next_question();
  for (const std::string& each : names) expect_grants(locks, beside(each, "again"));
  await_next_question();
  for (const std::string& each : names) expect_grants(locks, beside(each, "and again"));
  client fresh{url()};
  for (const std::string& each : names) expect_grants(fresh, beside(each, "fresh"));
}

TEST_F(redis_cluster_guard_marker, on_its_way_begins_no_guard) {
  client locks{url()};
  const std::vector<std::string> names = names_everywhere();
  for (const std::string& each : names) expect_grants(locks, each);
  const int slot = last_slot_of(0);
  nodes_.begin_move(slot, 1);
  while (nodes_.move_keys(slot, 1, 100) > 0) continue;
  for (int turn = 0; turn < 3; ++turn) {
    await_next_question();
    for (const std::string& each : names) expect_grants(locks, beside(each, "turn " + std::to_string(turn)));
  }
  while (nodes_.move_keys(slot, 1, 100) > 0) continue;
  nodes_.end_move(slot, 1);
  await_next_question();
  for (const std::string& each : names) expect_grants(locks, beside(each, "afterwards"));
}

TEST_F(redis_cluster_guard_marker, of_a_server_without_slots_is_not_asked_for) {
  client locks{url()};
  const std::size_t added = nodes_.add_node();
  const int slot = slot_of("stock");
  const std::size_t home = nodes_.owner_of(slot);
  expect_grants(locks, "stock");
  nodes_.move_slot(slot, added);
  // It has just started, and may have forgotten grants for all that the client knows.
  mutex lock{locks, "stock", brief()};
  lock.lock();
  lock.unlock();
  nodes_.move_slot(slot, home);
  lock.lock();
  lock.unlock();
  await_next_question();
  expect_grants(locks, "stock");
}

}  // namespace
}  // namespace holdfast::faults
