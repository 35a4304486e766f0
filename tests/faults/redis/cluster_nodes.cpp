// SPDX-License-Identifier: Apache-2.0
// Nodes of a Redis Cluster come and go, and a URL names whatever nodes.

#include <atomic>
#include <thread>

#include "faults/redis/cluster.hpp"
#include "support/reserved_port.hpp"

namespace holdfast::faults {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class redis_cluster_nodes : public on_cluster {
 protected:
  explicit redis_cluster_nodes(const cluster::settings& settings = primaries()) : on_cluster{settings} {}

  void expect_to_lock(client& locks) {
    for (const std::string& each : names_everywhere()) {
      auto held = mutex{locks, each, lasting()}.acquire();
      expect_known(held);
      expect_released(held);
    }
  }
  failing refusal_of(const std::string& url) {
    return known_failure_of([&] {
      client locks{url};
      mutex{locks, "stock", hasty()}.lock();
    });
  }
};

TEST_F(redis_cluster_nodes, that_come_and_go_under_load_end_no_lease) {
  client locks{nodes_.url()};
  auto held = mutex{locks, "stock", renewed()}.acquire();
  const auto token = held.token();
  const std::string busy = beside("stock", "busy");
  std::atomic<int> grants = 0;
  std::jthread load{[&](const std::stop_token& end) {
    client others{nodes_.url()};
    while (!end.stop_requested()) {
      const auto failed = failure_of([&] {
        auto next = mutex{others, busy, lasting()}.acquire();
        EXPECT_FALSE(next.release());
      });
      EXPECT_FALSE(failed.code) << failed.text;
      ++grants;
    }
  }};
  const auto await_grant = [&] {
    const int before = grants;
    await([&] { return grants > before; }, "nobody is granted a lock any more");
  };
  const std::size_t home = owner_of("stock");
  await_grant();
  const std::size_t added = nodes_.add_node();
  move("stock", added);
  await_grant();
  await_renewals(held);
  expect_known(held);
  EXPECT_NE(nodes_.node(added).ask({"DBSIZE"}), "0");
  move("stock", home);
  nodes_.remove_node(added);
  await_grant();
  await_renewals(held);
  load.request_stop();
  load.join();
  EXPECT_EQ(held.token(), token);
  expect_known(held);
  expect_released(held);
}

TEST_F(redis_cluster_nodes, are_found_by_any_one_of_them) {
  for (std::size_t i = 0; i < 3; ++i) {
    client locks{nodes_.url_at({nodes_.port(i)})};
    expect_to_lock(locks);
  }
}

TEST_F(redis_cluster_nodes, are_found_where_all_but_one_of_the_url_are_gone) {
  const test::reserved_port gone[4];
  client locks{nodes_.url_at(
      {gone[0].number(), gone[1].number(), gone[2].number(), gone[3].number(), nodes_.port(1)})};
  expect_to_lock(locks);
}

TEST_F(redis_cluster_nodes, are_found_where_the_others_of_the_url_stand_still) {
  test::redis_server still[2];
  for (auto& each : still) each.stop();
  client locks{nodes_.url_at({still[0].port(), still[1].port(), nodes_.port(1)})};
  EXPECT_TRUE(mutex(locks, "stock", lasting()).try_lock());
  for (auto& each : still) each.go_on();
}

TEST_F(redis_cluster_nodes, that_are_all_gone_are_named) {
  const test::reserved_port gone[2];
  const auto refused = refusal_of(nodes_.url_at({gone[0].number(), gone[1].number()}));
  EXPECT_EQ(refused.code, errc::unavailable);
  for (const auto& each : gone)
    EXPECT_THAT(refused.text, HasSubstr("127.0.0.1:" + std::to_string(each.number()) + ": cannot connect"));
}

TEST_F(redis_cluster_nodes, without_a_slot_lead_to_the_others) {
  const std::size_t added = nodes_.add_node();
  client locks{nodes_.url_at({nodes_.port(added)})};
  expect_to_lock(locks);
}

class redis_cluster_replicas : public redis_cluster_nodes {
 protected:
  redis_cluster_replicas() : redis_cluster_nodes{{}} {}
};

TEST_F(redis_cluster_replicas, lead_to_the_primaries) {
  client locks{nodes_.url_at({nodes_.port(4)})};
  expect_to_lock(locks);
}

TEST_F(redis_cluster_nodes, are_refused_by_a_url_of_a_server) {
  const auto refused = refusal_of(nodes_.node(0).url());
  EXPECT_EQ(refused.code, errc::foreign_store);
  EXPECT_THAT(refused.text, AllOf(HasSubstr("the server is a node of a cluster"),
                                  HasSubstr("redis+cluster://127.0.0.1:" + std::to_string(nodes_.port(0)))));
}

TEST_F(redis_cluster_nodes, are_known_from_a_server_that_is_none) {
  test::redis_server alone;
  const auto refused = refusal_of(nodes_.url_at({alone.port()}));
  EXPECT_EQ(refused.code, errc::foreign_store);
  EXPECT_THAT(refused.text, AllOf(HasSubstr("no node of a cluster"),
                                  HasSubstr("redis://127.0.0.1:" + std::to_string(alone.port()))));
  client locks{nodes_.url_at({alone.port(), nodes_.port(0)})};
  expect_to_lock(locks);
}

TEST_F(redis_cluster_nodes, have_no_databases) {
  for (const char* rest : {"/3", "?db=3", "/stock"}) {
    const auto refused = failure_of([&] { client{nodes_.url(rest)}; });
    EXPECT_EQ(refused.code, errc::invalid_url) << rest << ": " << refused.text;
  }
  EXPECT_THAT(failure_of([&] { client{nodes_.url("/3")}; }).text, HasSubstr("a cluster has no databases"));
  EXPECT_FALSE(failure_of([&] { client{nodes_.url("/0")}; }).code);
}

}  // namespace
}  // namespace holdfast::faults
