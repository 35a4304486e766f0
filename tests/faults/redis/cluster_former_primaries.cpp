// SPDX-License-Identifier: Apache-2.0
// A primary of a Redis Cluster that stood still while its replica took its place, and goes on: it carries out
// what lies in its sockets before it learns that it is a replica. Clients that find it silent ask for the map
// and leave it, so that no grant comes late here; when such a grant is doubted is in unit/redis_wire.cpp.

#include <atomic>
#include <thread>

#include "faults/redis/cluster.hpp"

namespace holdfast::faults {
namespace {

class redis_cluster_former_primary : public on_cluster {
 protected:
  static lock_options with_ttl(duration length) {
    return lock_options{}.ttl(length).retry(retry_policy{}.limit(120s));
  }

  redis_cluster_former_primary() {
    // The servers have just started, which has a guard of its own. This one is the shortest.
    client first{nodes_.guarded_url("?failover_guard=6s")};
    for (const std::string& each : names_everywhere())
      static_cast<void>(mutex{first, each, with_ttl(6s)}.acquire());
    for (std::size_t shard = 0; shard < 3; ++shard) nodes_.replicate(shard);
  }

  /// Tries again and again. Some request is on its way when the server stops.
  void contend(const std::stop_token& end, bool is_new_each_time) {
    client mine{url_ + "&answer_timeout=60s"};
    while (!end.stop_requested()) {
      ++tries_;
      if (is_new_each_time) mine = client{url_};
      const auto paused = failure_of([&] {
        auto theirs = mutex{mine, "stock", with_ttl(30s)}.try_acquire();
        if (theirs && theirs->held() && held_.held()) ++overlaps_;
      });
      if (paused.code) std::this_thread::sleep_for(100ms);
    }
  }

  /// Among many who try, the primary of the lock that is held stands still, until its replica has taken its
  /// place and what it knows of the lease has ended, and goes on.
  /// \return whether this machine was quick enough to keep the lease.
  bool stand_still() {
    const std::size_t former = owner_of("stock");
    nodes_.replicate(nodes_.shard_of(former));
    std::vector<std::jthread> contenders;
    for (int i = 0; i < 8; ++i)
      contenders.emplace_back([this, i](const std::stop_token& end) { contend(end, i == 0); });
    await([&] { return tries_ > 100; }, "nobody tries");
    nodes_.node(former).stop();
    nodes_.await_failover_from(former);
    if (renew(held_) != renewal::renewed) return false;
    outlast(short_ttl);
    nodes_.node(former).go_on();
    nodes_.await_replica(former);
    outlast(1s);
    EXPECT_TRUE(held_.held());
    return true;
  }

  static constexpr auto short_ttl = 12s;  // a failover on a loaded machine takes half of it
  const std::string url_ = nodes_.guarded_url("?failover_guard=30s");
  client locks_{url_ + "&answer_timeout=1s&connect_timeout=500ms"};
  lease held_;
  std::atomic<int> overlaps_ = 0;
  std::atomic<int> tries_ = 0;
};

TEST_F(redis_cluster_former_primary, lets_nobody_in_with_requests_from_before_it_stood_still) {
  held_ = mutex{locks_, "stock", with_ttl(short_ttl)}.acquire();
  if (!stand_still()) GTEST_SKIP() << "this machine is too slow to keep the lease";
  EXPECT_EQ(overlaps_, 0) << "two hold";
}

// The former primary finds that the lease has ended, and hands the lock to who waits for it there.
TEST_F(redis_cluster_former_primary, hands_nothing_over_to_who_waits_since_before_it_stood_still) {
  held_ = mutex{locks_, "stock", with_ttl(short_ttl)}.acquire();
  std::jthread waiter{[this] {
    client mine{url_ + "&answer_timeout=60s"};
    auto theirs = mutex{mine, "stock", with_ttl(30s)}.acquire();
    if (theirs.held() && held_.held()) ++overlaps_;
  }};
  expect_waiter(locks_);
  if (!stand_still()) GTEST_SKIP() << "this machine is too slow to keep the lease";
  EXPECT_EQ(overlaps_, 0) << "two hold";
  expect_released(held_);
}

}  // namespace
}  // namespace holdfast::faults
