// SPDX-License-Identifier: Apache-2.0
// Notifications in a Redis Cluster stay within the shard of the lock: the other shards do no work for it.

#include <cstddef>
#include <cstdint>
#include <future>
#include <string>

#include "faults/redis/cluster.hpp"
#include "faults/redis/hand_over.hpp"

namespace holdfast::faults {
namespace {

class redis_cluster_notifications : public on_cluster {
 protected:
  static constexpr int hand_overs = 100;

  [[nodiscard]] std::int64_t calls_of(std::size_t node, const std::string& command) {
    return nodes_.node(node).calls(command);
  }
  [[nodiscard]] std::int64_t bus_messages_of(std::size_t node, const std::string& kind) {
    const std::string all = nodes_.node(node).ask({"CLUSTER", "INFO"});
    const std::string field = "cluster_stats_messages_" + kind + ':';
    const auto at = all.find(field);
    return at == std::string::npos ? 0 : std::stoll(all.substr(at + field.size()));
  }

  /// Two clients hold in turns: each waits while the other one holds.
  void hand_over() {
    client clients[2]{client{nodes_.url()}, client{nodes_.url()}};
    auto held = mutex{clients[0], "stock", notified()}.acquire();
    for (int i = 1; i <= hand_overs; ++i) {
      auto next = std::async(std::launch::async,
                             [&] { return mutex{clients[i % 2], "stock", notified()}.acquire(); });
      await([&] { return !clients[1 - i % 2].inspect("stock").value_or(lock_state{}).waiters.empty(); },
            "nobody waits");
      expect_released(held);
      held = next.get();
    }
    expect_released(held);
  }
};

TEST_F(redis_cluster_notifications, go_by_sharded_channels_alone) {
  const std::size_t owner = owner_of("stock");
  const std::size_t shard = nodes_.shard_of(owner);
  hand_over();
  EXPECT_GE(calls_of(owner, "spublish"), hand_overs);
  EXPECT_EQ(calls_of(owner, "publish"), 0);
  EXPECT_GE(bus_messages_of(owner, "publishshard_sent"), hand_overs) << "its replica passes them on";
  EXPECT_EQ(bus_messages_of(owner, "publish_sent"), 0);
  for (std::size_t i = 0; i < nodes_.node_count(); ++i) {
    EXPECT_EQ(bus_messages_of(i, "publish_received"), 0) << i;
    if (nodes_.shard_of(i) == shard) continue;
    EXPECT_EQ(bus_messages_of(i, "publishshard_received"), 0) << i;
    EXPECT_EQ(calls_of(i, "spublish") + calls_of(i, "publish"), 0) << i;
  }
}

TEST_F(redis_cluster_notifications, that_prove_a_grant_save_a_look) {
  client locks{nodes_.url()};
  client others{nodes_.url()};
  EXPECT_EQ(fewest_scripts_of_a_hand_over(nodes_.node(owner_of("stock")), locks, others), 1);
}

// A channel is one of a slot: a client that waits on many names of a slot has one.
TEST_F(redis_cluster_notifications, of_one_slot_share_a_subscription) {
  client locks{nodes_.url()};
  client others{nodes_.url()};
  std::vector<lease> held;
  std::vector<std::future<lease>> waiting;
  for (int i = 0; i < 10; ++i) {
    const std::string name = beside("stock", std::to_string(i));
    held.push_back(mutex{locks, name, lasting()}.acquire());
    waiting.push_back(
        std::async(std::launch::async, [&, name] { return mutex{others, name, lasting()}.acquire(); }));
    await([&] { return !locks.inspect(name).value_or(lock_state{}).waiters.empty(); }, "nobody waits");
  }
  const std::size_t owner = owner_of("stock");
  const std::string channels = nodes_.node(owner).ask({"PUBSUB", "SHARDCHANNELS"});
  EXPECT_NE(channels, "");
  EXPECT_EQ(channels.find('\n'), std::string::npos) << channels;
  for (lease& each : held) expect_released(each);
  for (auto& each : waiting) each.get();
}

}  // namespace
}  // namespace holdfast::faults
