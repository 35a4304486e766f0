// The other tests rely on the cluster that they start: it is real, and its functions do what they say.

#include "faults/faults.hpp"
#include "support/redis_cluster.hpp"

namespace holdfast::faults {
namespace {

using cluster = test::redis_cluster;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// A key of the slot that the shard owns at the start.
std::string key_on(cluster& nodes, std::size_t shard) {
  std::string key;
  for (int i = 0; key.empty() || nodes.owner_of(nodes.slot_of(key)) != shard; ++i)
    key = "key-" + std::to_string(i);
  return key;
}

/// The reply of a node to a client on its TLS port, as redis-cli prints it.
std::string told_over_tls(cluster& nodes, std::size_t index, const std::vector<std::string>& command) {
  const test::scratch_folder folder;
  const auto& pair = nodes.node(index).client_pair();
  std::vector<std::string> arguments{"redis-cli",
                                     "-h",
                                     "127.0.0.1",
                                     "-p",
                                     std::to_string(nodes.port(index)),
                                     "--tls",
                                     "--cacert",
                                     nodes.node(index).authority().authority(),
                                     "--cert",
                                     pair.certificate,
                                     "--key",
                                     pair.key};
  arguments.insert(arguments.end(), command.begin(), command.end());
  test::child_process client{arguments, {.output = folder.file("said")}};
  client.wait(60s);
  return bytes_of(folder.file("said"));
}

TEST(redis_cluster_itself, has_three_primaries_and_a_replica_of_each) {
  cluster nodes;
  ASSERT_EQ(nodes.node_count(), 6U);
  for (std::size_t shard = 0; shard < 3; ++shard) {
    EXPECT_EQ(nodes.primary_index(shard), shard);
    EXPECT_THAT(nodes.replicas_of(shard), ElementsAre(shard + 3));
    EXPECT_EQ(nodes.shard_of(shard + 3), shard);
  }
  EXPECT_EQ(nodes.owner_of(0), 0U);
  EXPECT_EQ(nodes.owner_of(16383), 2U);
  const std::string key = key_on(nodes, 1);
  EXPECT_EQ(nodes.node(1).ask({"SET", key, "value"}), "OK");
  EXPECT_EQ(nodes.node(0).ask({"GET", key}),
            "-MOVED " + std::to_string(nodes.slot_of(key)) + " 127.0.0.1:" + std::to_string(nodes.port(1)));
}

TEST(redis_cluster_itself, has_the_shards_that_were_asked_for) {
  cluster nodes{{.shards = 1, .replicas = 2, .lines = {"maxmemory 123mb"}}};
  EXPECT_EQ(nodes.node_count(), 3U);
  EXPECT_THAT(nodes.replicas_of(0), ElementsAre(1U, 2U));
  EXPECT_EQ(nodes.node(2).info_text("maxmemory_human"), "123.00M");
}

TEST(redis_cluster_itself, writes_the_urls_of_its_nodes) {
  cluster nodes{{.replicas = 0, .password = "open-sesame"}};
  const auto port = [&](std::size_t index) { return std::to_string(nodes.port(index)); };
  const std::string start =
      "redis+cluster://:open-sesame@127.0.0.1:" + port(0) + ",127.0.0.1:" + port(1) + ",127.0.0.1:" + port(2);
  EXPECT_EQ(nodes.url(), start + "?failover_guard=0");
  EXPECT_EQ(nodes.url("?prefix=a:"), start + "?prefix=a:&failover_guard=0");
  EXPECT_EQ(nodes.guarded_url("?prefix=a:"), start + "?prefix=a:");
}

TEST(redis_cluster_itself, moves_a_slot_with_its_keys) {
  cluster nodes{{.replicas = 0, .password = "open-sesame"}};
  const int slot = nodes.slot_of("{tag}");
  const std::size_t from = nodes.owner_of(slot);
  const std::size_t to = (from + 1) % 3;
  nodes.node(from).ask({"SET", "{tag}string", "two\r\nlines", "PX", "1000000"});
  nodes.node(from).ask({"SET", "{tag}\n", "value"});
  nodes.node(from).ask({"ZADD", "{tag}set", "-1.5", "one", "2", "two"});
  nodes.move_slot(slot, to);

  EXPECT_EQ(nodes.owner_of(slot), to);
  EXPECT_EQ(nodes.node(from).ask({"DBSIZE"}), "0");
  EXPECT_EQ(nodes.node(to).ask({"GET", "{tag}string"}), "two\r\nlines");
  EXPECT_NEAR(std::stod(nodes.node(to).ask({"PTTL", "{tag}string"})), 1'000'000, 100'000);
  EXPECT_EQ(nodes.node(to).ask({"PTTL", "{tag}\n"}), "-1");
  EXPECT_EQ(nodes.node(to).ask({"ZRANGE", "{tag}set", "0", "-1", "WITHSCORES"}), "one\n-1.5\ntwo\n2");
  const std::size_t third = (to + 1) % 3;
  EXPECT_THAT(nodes.node(from).ask({"GET", "{tag}string"}), StartsWith("-MOVED "));
  EXPECT_THAT(nodes.node(third).ask({"GET", "{tag}string"}), StartsWith("-MOVED "));
}

TEST(redis_cluster_itself, moves_a_slot_in_steps) {
  cluster nodes;
  const int slot = nodes.slot_of("{tag}");
  const std::size_t from = nodes.owner_of(slot);
  const std::size_t to = (from + 1) % 3;
  for (const char* key : {"{tag}1", "{tag}2", "{tag}3"}) nodes.node(from).ask({"SET", key, key});

  nodes.begin_move(slot, to);
  EXPECT_EQ(nodes.owner_of(slot), from);
  EXPECT_EQ(nodes.node(from).ask({"GET", "{tag}1"}), "{tag}1");
  EXPECT_THAT(nodes.node(from).ask({"GET", "{tag}new"}), StartsWith("-ASK "));
  EXPECT_EQ(nodes.move_keys(slot, to, 2), 2U);
  EXPECT_THAT(nodes.node(from).ask({"MGET", "{tag}1", "{tag}2", "{tag}3"}), StartsWith("-TRYAGAIN "));
  EXPECT_THROW(nodes.end_move(slot, to), std::runtime_error);
  EXPECT_EQ(nodes.move_keys(slot, to, 2), 1U);
  EXPECT_EQ(nodes.move_keys(slot, to, 2), 0U);
  nodes.end_move(slot, to);
  EXPECT_EQ(nodes.node(to).ask({"MGET", "{tag}1", "{tag}2", "{tag}3"}), "{tag}1\n{tag}2\n{tag}3");
}

TEST(redis_cluster_itself, fails_over_as_planned_and_back) {
  cluster nodes;
  const std::string key = key_on(nodes, 0);
  nodes.node(0).ask({"SET", key, "value"});
  nodes.fail_over(0);
  EXPECT_EQ(nodes.primary_index(0), 3U);
  EXPECT_EQ(nodes.owner_of(nodes.slot_of(key)), 3U);
  EXPECT_EQ(nodes.node(3).ask({"GET", key}), "value");
  EXPECT_THAT(nodes.node(0).ask({"GET", key}), HasSubstr(std::to_string(nodes.port(3))));
  nodes.await_replica(0);
  nodes.await_ok();
  nodes.fail_over(0);
  EXPECT_EQ(nodes.primary_index(0), 0U);
}

TEST(redis_cluster_itself, fails_over_after_a_crash_and_takes_the_former_primary_back) {
  cluster nodes;
  const std::string key = key_on(nodes, 1);
  nodes.node(1).ask({"SET", key, "value"});
  nodes.replicate(1);
  EXPECT_EQ(nodes.kill_primary(1), 1U);
  nodes.await_failover_from(1);
  EXPECT_EQ(nodes.primary_index(1), 4U);
  nodes.await_ok();
  EXPECT_EQ(nodes.node(4).ask({"GET", key}), "value");
  EXPECT_EQ(nodes.node(4).ask({"SET", key, "another"}), "OK");
  nodes.node(1).start();
  nodes.await_replica(1);
  nodes.await_ok();
  EXPECT_THAT(nodes.replicas_of(4), ElementsAre(1U));
  EXPECT_EQ(nodes.node(1).ask({"DBSIZE"}), "1");
}

TEST(redis_cluster_itself, fails_over_from_a_server_that_stands_still) {
  cluster nodes;
  nodes.node(2).stop();
  nodes.await_failover_from(2);
  EXPECT_EQ(nodes.primary_index(2), 5U);
  nodes.node(2).go_on();
  nodes.await_replica(2);
  nodes.await_ok();
}

TEST(redis_cluster_itself, takes_a_node_in_and_removes_it) {
  cluster nodes{{.replicas = 0}};
  const std::size_t added = nodes.add_node();
  EXPECT_EQ(added, 3U);
  EXPECT_EQ(nodes.shard_of(added), 3U);
  EXPECT_EQ(nodes.primary_index(3), added);
  EXPECT_THAT(nodes.url(), HasSubstr(',' + ("127.0.0.1:" + std::to_string(nodes.port(added)))));
  const int slot = nodes.slot_of("key");
  const std::size_t from = nodes.owner_of(slot);
  nodes.node(from).ask({"SET", "key", "value"});
  nodes.move_slot(slot, added);
  EXPECT_EQ(nodes.node(added).ask({"GET", "key"}), "value");

  nodes.move_slot(slot, from);
  nodes.remove_node(added);
  EXPECT_EQ(nodes.node(from).ask({"GET", "key"}), "value");
  EXPECT_EQ(nodes.view_of(0).nodes().size(), 3U);
  EXPECT_EQ(nodes.ports().size(), 3U);
  EXPECT_THROW((void)nodes.node(added), std::out_of_range);
  nodes.await_ok();
}

TEST(redis_cluster_itself, names_its_tls_ports_to_clients_with_a_certificate) {
  cluster nodes{{.node_timeout = std::chrono::minutes{10}, .tls = true}};
  const std::string slots = told_over_tls(nodes, 0, {"CLUSTER", "SLOTS"});
  for (std::size_t i = 0; i < 3; ++i) {  // a replica is named when it has received a write
    EXPECT_NE(nodes.port(i), nodes.node(i).port());
    EXPECT_THAT(slots, HasSubstr("\n" + std::to_string(nodes.port(i)) + "\n"));
  }
  const std::string key = key_on(nodes, 1);
  EXPECT_THAT(told_over_tls(nodes, 0, {"GET", key}), HasSubstr(":" + std::to_string(nodes.port(1))));
  nodes.node(1).ask({"SET", key, "value"});
  nodes.move_slot(nodes.slot_of(key), 2);
  EXPECT_EQ(nodes.node(2).ask({"GET", key}), "value");
  EXPECT_THAT(nodes.url(), StartsWith("rediss+cluster://127.0.0.1:"));
  EXPECT_THAT(nodes.url(), HasSubstr("?failover_guard=0&ca="));
  EXPECT_THAT(nodes.guarded_url(), HasSubstr("?ca="));
}

}  // namespace
}  // namespace holdfast::faults
