#include <atomic>
#include <vector>

#include "contract/stores.hpp"
#include "support/redis_cluster.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::test::redis_cluster;

constexpr std::size_t shards = 3;

// One cluster for all tests of this process. Each test has a prefix of its own, so tests do not share locks.
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

class redis_cluster_store final : public holdfast::contract::store {
 public:
  explicit redis_cluster_store(redis_cluster& nodes) : nodes_{nodes} {}

  [[nodiscard]] std::string url() const override {
    return nodes_.url("?prefix=contract-" + std::to_string(number_) + ':');
  }
  // Connections stay, and what is sent meanwhile is carried out afterwards, whoever still wants it. All
  // primaries stand still, because the locks of a test are in the slots of any of them.
  void stop_answering() override {
    for (std::size_t shard = 0; shard < shards; ++shard) stopped_.push_back(nodes_.primary_index(shard));
    for (const std::size_t index : stopped_) nodes_.node(index).stop();
  }
  void answer_again() override {
    for (const std::size_t index : stopped_) nodes_.node(index).go_on();
    stopped_.clear();
  }

 private:
  static inline std::atomic<int> started{0};
  redis_cluster& nodes_;
  int number_ = ++started;
  std::vector<std::size_t> stopped_;
};

holdfast::contract::store_kind kind(std::string name, std::string scheme, extent in_gate,
                                    redis_cluster& (*nodes)()) {
  return {.name = std::move(name),
          .scheme = std::move(scheme),
          .across_processes = true,
          .breakable = true,
          .in_gate = in_gate,
          .start = [nodes] { return std::make_unique<redis_cluster_store>(nodes()); }};
}

const holdfast::contract::test_on cluster{kind("cluster", "redis+cluster", extent::blocking, plain)};
const holdfast::contract::test_on secure_cluster{kind("clustertls", "rediss+cluster", extent::smoke, secure)};

}  // namespace
