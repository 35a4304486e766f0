// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>

#include "contract/redis_store.hpp"
#include "support/redis_cluster.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::test::redis_cluster;
using store = holdfast::contract::redis_store<redis_cluster>;

constexpr std::size_t shards = 3;

// A server that stands still is not down for the other nodes: failovers are for tests/faults.
redis_cluster& plain() {
  static redis_cluster shared{{.shards = shards, .node_timeout = std::chrono::minutes{10}}};
  return shared;
}
redis_cluster& secure() {
  static redis_cluster shared{
      {.shards = shards, .node_timeout = std::chrono::minutes{10}, .password = "a-cluster", .tls = true}};
  return shared;
}
std::string url(redis_cluster& nodes, const std::string& prefix) { return nodes.url('?' + prefix); }
// The locks of a test are in the slots of any of them.
std::vector<holdfast::test::redis_server*> primaries(redis_cluster& nodes) {
  std::vector<holdfast::test::redis_server*> all;
  for (std::size_t shard = 0; shard < shards; ++shard) all.push_back(&nodes.node(nodes.primary_index(shard)));
  return all;
}

const holdfast::contract::test_on cluster{store::kind(
    {.name = "cluster", .scheme = "redis+cluster", .in_gate = extent::blocking}, {plain, url, primaries})};
const holdfast::contract::test_on secure_cluster{store::kind(
    {.name = "clustertls", .scheme = "rediss+cluster", .in_gate = extent::smoke}, {secure, url, primaries})};

}  // namespace
