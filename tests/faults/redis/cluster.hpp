// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "faults/faults.hpp"
#include "support/redis_cluster.hpp"

namespace holdfast::faults {

/// A Redis Cluster of three shards. "stock" is on one of them.
class on_cluster : public testing::Test {
 protected:
  using cluster = test::redis_cluster;

  explicit on_cluster(const cluster::settings& settings = {}) : nodes_{settings} {}

  /// Primaries without replicas, which are never down for each other.
  static cluster::settings primaries() { return {.replicas = 0, .node_timeout = std::chrono::minutes{10}}; }
  /// Long enough for any failover, and for many moves.
  static lock_options lasting() { return lock_options{}.ttl(120s).retry(retry_policy{}.limit(120s)); }
  /// Who waits like this looks after 20 minutes. What serves it is a notification.
  static lock_options notified() { return lasting().ttl(1h); }
  /// Leases end while something lasts for long, unless they are renewed.
  static constexpr auto ttl = 6s;
  static lock_options renewed(duration length = ttl) {
    return lock_options{}.ttl(length).retry(retry_policy{}.limit(120s));
  }

  [[nodiscard]] int slot_of(const std::string& name) { return nodes_.slot_of("holdfast:" + name); }
  [[nodiscard]] std::size_t owner_of(const std::string& name) { return nodes_.owner_of(slot_of(name)); }
  void move(const std::string& name, std::size_t to) { nodes_.move_slot(slot_of(name), to); }
  /// A name of a slot that the node owns.
  [[nodiscard]] std::string name_on(std::size_t node) {
    std::string name;
    for (int i = 0; name.empty() || owner_of(name) != node; ++i) name = "name " + std::to_string(i);
    return name;
  }
  /// Another name of the same slot.
  [[nodiscard]] static std::string beside(const std::string& name, const std::string& rest) {
    return "{holdfast:" + name + '}' + rest;
  }
  /// One name on each of the primaries.
  [[nodiscard]] std::vector<std::string> names_everywhere() {
    std::vector<std::string> names;
    for (std::size_t shard = 0; shard < 3; ++shard) names.push_back(name_on(nodes_.primary_index(shard)));
    return names;
  }

  /// The cluster knows the lease, with its token.
  void expect_known(lease& held) {
    EXPECT_EQ(renew(held), renewal::renewed) << held.name();
    expect_holders(held.name(), {held.token()});
  }
  void expect_holders(const std::string& name, const std::vector<fencing_token>& tokens) {
    const client locks{nodes_.url(), client_options{}.locks(lasting())};
    std::vector<fencing_token> found;
    for (const auto& each : locks.inspect(name).value_or(lock_state{}).holders) found.push_back(each.token);
    EXPECT_EQ(found, tokens) << name;
  }
  static void expect_released(lease& held) { EXPECT_FALSE(held.release()) << held.name(); }
  /// Returns when it has been renewed so often from now on. The first renewal may be under way already.
  static void await_renewals(const lease& held, int count = 2) {
    for (int each = 0; each < count && held.held(); ++each) {
      const auto before = held.deadline();
      await([&] { return held.deadline() > before || !held.held(); }, "it is not renewed");
    }
    EXPECT_TRUE(held.held()) << held.name();
  }
  /// Returns when this much time has passed.
  static void outlast(duration time) {
    const auto end = boot_clock::now() + time;
    await([&] { return boot_clock::now() > end; }, "time stands still");
  }

  cluster nodes_;
};

}  // namespace holdfast::faults
