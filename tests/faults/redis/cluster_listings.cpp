// SPDX-License-Identifier: Apache-2.0
// Listings and watches see all shards of a Redis Cluster.

#include <algorithm>
#include <atomic>
#include <thread>

#include "faults/redis/cluster.hpp"

namespace holdfast::faults {
namespace {

using testing::UnorderedElementsAreArray;

class redis_cluster_listings : public on_cluster {
 protected:
  redis_cluster_listings() : on_cluster{primaries()} {}

  static std::vector<std::string> names_in(const std::vector<lock_summary>& all) {
    std::vector<std::string> names;
    for (const lock_summary& each : all) names.push_back(each.name);
    return names;
  }
  static bool is_sorted(const std::vector<std::string>& names) {
    return std::is_sorted(names.begin(), names.end());
  }
};

TEST_F(redis_cluster_listings, have_the_names_of_all_shards_once_each) {
  client locks{nodes_.url(), client_options{}.locks(lasting())};
  std::vector<lease> held;
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) {
    names.push_back("name " + std::to_string(i));
    held.push_back(mutex{locks, names.back()}.acquire());
  }
  const auto listed = names_in(locks.list());
  EXPECT_THAT(listed, UnorderedElementsAreArray(names));
  EXPECT_TRUE(is_sorted(listed));
  for (std::size_t i = 0; i < held.size(); i += 2) expect_released(held[i]);
  EXPECT_EQ(locks.list().size(), held.size() / 2);
  EXPECT_THAT(names_in(locks.list(true)), UnorderedElementsAreArray(names));
}

TEST_F(redis_cluster_listings, during_moves_have_every_name_once) {
  client locks{nodes_.url(), client_options{}.locks(lasting())};
  std::vector<lease> held;
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    names.push_back("name " + std::to_string(i));
    held.push_back(mutex{locks, names.back()}.acquire());
  }
  std::atomic<int> listings = 0;
  std::jthread reader{[&](const std::stop_token& end) {
    client readers{nodes_.url(), client_options{}.locks(lasting())};
    while (!end.stop_requested()) {
      const auto failed = failure_of([&] {
        const auto listed = names_in(readers.list());
        EXPECT_THAT(listed, UnorderedElementsAreArray(names));
      });
      EXPECT_FALSE(failed.code) << failed.text;
      ++listings;
    }
  }};
  for (int i = 0; i < 20; ++i) {
    const int before = listings;
    const std::string& name = names.at(static_cast<std::size_t>(i));
    move(name, (owner_of(name) + 1) % 3);
    await([&] { return listings > before; }, "nothing is listed any more");
  }
}

class redis_cluster_watches : public redis_cluster_listings {
 protected:
  /// It may be connecting to that server still.
  void expect_to_hear_of(const std::string& name) {
    await(
        [&] {
          const int before = calls_;
          static_cast<void>(mutex{others_, name, lasting()}.acquire());
          return comes_true([&] { return calls_ > before; }, 1s);
        },
        "the watch does not hear of that shard");
  }
  client others_{nodes_.url()};
  std::atomic<int> calls_ = 0;
};

TEST_F(redis_cluster_watches, hear_of_changes_on_all_shards) {
  const client watcher{nodes_.url()};
  const auto watch = watcher.watch([this] { ++calls_; });
  await([&] { return calls_ > 0; }, "a watch begins with a call");
  for (const std::string& each : names_everywhere()) expect_to_hear_of(each);
}

TEST_F(redis_cluster_watches, hear_of_changes_on_a_shard_that_came) {
  const client watcher{nodes_.url()};
  const auto watch = watcher.watch([this] { ++calls_; });
  await([&] { return calls_ > 0; }, "a watch begins with a call");
  move("stock", nodes_.add_node());
  expect_to_hear_of("stock");
}

}  // namespace
}  // namespace holdfast::faults
