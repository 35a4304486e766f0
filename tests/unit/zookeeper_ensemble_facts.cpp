#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "stores/zookeeper/protocol/ensemble_facts.hpp"
#include "unit/findings.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;
using grade = finding::grade;

constexpr auto three =
    "server.1=a:2888:3888:participant\nserver.2=b:2888:3888:participant\n"
    "server.3=c:2888:3888:participant\nversion=0";

ensemble_facts in_order() {
  ensemble_facts facts;
  for (const char* mode : {"leader", "follower"}) {
    ensemble_facts::server one;
    one.place = std::string{mode} + ":2181";
    one.srvr = fields_in(std::string{"Zxid: 0x7\nMode: "} + mode, ": ");
    one.conf = fields_in("tickTime=2000\nminSessionTimeout=4000\nmaxSessionTimeout=40000\n", "=");
    one.mntr = fields_in(
        "zk_avg_latency\t0.5\nzk_outstanding_requests\t0\nzk_local_sessions\t0\nzk_cnt_fsynctime\t7\n"
        "zk_cnt_sync_processor_batch_size\t7\n",
        "\t");
    facts.servers.push_back(one);
  }
  facts.requested = 30s;
  facts.is_local = true;
  facts.seen = ensemble_facts::session{};
  facts.seen->timeout = 30s;
  facts.seen->members = three;
  facts.seen->root = "/app";
  facts.seen->acl = {{31, "world", "anyone"}};
  return facts;
}

finding only(const ensemble_facts& facts) { return test::only_broken(findings_of(facts)); }

TEST(zookeeper_ensemble_facts, say_nothing_of_an_ensemble_in_order) {
  for (const finding& each : findings_of(in_order())) EXPECT_EQ(each.result, grade::kept) << each.observed;
}

TEST(zookeeper_ensemble_facts, count_votes_without_observers) {
  ensemble_facts facts = in_order();
  facts.seen->members += "\nserver.4=d:2888:3888:observer";
  for (const finding& each : findings_of(facts)) {
    if (each.condition == "size") {
      EXPECT_EQ(each.observed, "3 servers have a vote and 1 observer");
    }
  }
  facts.seen->members = "server.1=a:2888:3888:participant\nserver.2=b:2888:3888:participant";
  EXPECT_EQ(only(facts).condition, "size");
  EXPECT_EQ(only(facts).observed, "2 servers have a vote");
}

TEST(zookeeper_ensemble_facts, do_not_count_votes_that_cannot_be_read) {
  ensemble_facts facts = in_order();
  facts.seen->members.clear();
  EXPECT_EQ(only(facts).condition, "size");
  EXPECT_EQ(only(facts).result, grade::unknown);
  facts.servers = {facts.servers.front()};
  facts.servers.front().srvr["Mode"] = "standalone";
  EXPECT_EQ(only(facts).observed, "one server has all votes") << "it has no such list";
}

TEST(zookeeper_ensemble_facts, do_not_take_an_acl_that_is_unknown_for_missing_rights) {
  ensemble_facts facts = in_order();
  facts.seen->acl.reset();
  EXPECT_EQ(only(facts).result, grade::broken);
  facts.seen->acl_problem = "marshalling error";
  EXPECT_EQ(only(facts).condition, "rights");
  EXPECT_EQ(only(facts).result, grade::unknown);
}

TEST(zookeeper_ensemble_facts, bound_numbers_whose_multiples_would_overflow) {
  ensemble_facts facts = in_order();
  for (auto& each : facts.servers) each.conf["tickTime"] = "9223372036854775807";
  std::size_t bounds = 0;
  for (const finding& each : findings_of(facts)) {
    if (each.condition == "session bounds") {
      ++bounds;
      EXPECT_EQ(each.remedy, "minSessionTimeout=2000000000000000 in the configuration of all servers");
    }
    if (each.condition == "session") {
      EXPECT_EQ(each.remedy, "session_timeout=8000000000000000ms or more");
    }
  }
  EXPECT_EQ(bounds, 2U);
}

TEST(zookeeper_ensemble_facts, tell_a_server_that_is_slow) {
  ensemble_facts facts = in_order();
  facts.servers[1].mntr["zk_outstanding_requests"] = "1000";
  EXPECT_EQ(only(facts).condition, "load");
  facts = in_order();
  facts.servers[1].mntr["zk_avg_latency"] = "612.5";
  EXPECT_EQ(only(facts).subject, "follower:2181");
}

TEST(zookeeper_ensemble_facts, tell_nothing_of_forced_writes_before_the_second_write) {
  ensemble_facts facts = in_order();
  facts.servers[0].mntr["zk_cnt_fsynctime"] = "0";
  EXPECT_EQ(only(facts).result, grade::broken);
  facts.servers[0].mntr["zk_cnt_sync_processor_batch_size"] = "1";
  EXPECT_EQ(only(facts).result, grade::unknown);
}

TEST(zookeeper_ensemble_facts, tell_nodes_of_everybody_unless_the_url_asks_for_them) {
  ensemble_facts facts = in_order();
  facts.is_local = false;
  EXPECT_EQ(only(facts).condition, "access");
  facts.asks_for_world = true;
  EXPECT_TRUE(findings_of(facts).size() > 1);
  for (const finding& each : findings_of(facts)) EXPECT_EQ(each.result, grade::kept) << each.observed;
}

TEST(zookeeper_ensemble_facts, compare_the_user_of_the_url_with_the_acl) {
  ensemble_facts facts = in_order();
  facts.makes_world = false;
  facts.user = "app";
  facts.seen->acl = {{31, "digest", "app:hash"}};
  for (const finding& each : findings_of(facts)) EXPECT_EQ(each.result, grade::kept) << each.observed;
  facts.seen->acl = {{31, "digest", "application:hash"}};
  EXPECT_EQ(only(facts).result, grade::broken);
  facts.seen->acl->push_back({31, "ip", "10.0.0.0/8"});
  EXPECT_EQ(only(facts).result, grade::unknown);
}

TEST(zookeeper_ensemble_facts, know_of_what_was_not_listed) {
  ensemble_facts facts = in_order();
  facts.seen->lists = 1000;
  facts.seen->has_more = true;
  for (const finding& each : findings_of(facts)) EXPECT_EQ(each.result, grade::kept) << each.observed;
  facts.seen->unseen = "the nodes below /app/theirs cannot be listed: not authenticated";
  EXPECT_EQ(only(facts).result, grade::unknown);
  facts.seen->largest_list_bytes = 0xfffff / 2 + 1;
  EXPECT_EQ(only(facts).result, grade::warning) << "what was seen is too long, whatever was not";
  facts.seen->unseen.clear();
  facts.buffer_bytes = 0x1fffff;
  for (const finding& each : findings_of(facts)) EXPECT_EQ(each.result, grade::kept) << each.observed;
}

TEST(zookeeper_ensemble_facts, survive_answers_that_are_no_lines_of_fields) {
  EXPECT_TRUE(fields_in("", "=").empty());
  EXPECT_TRUE(fields_in("\n\nno field\n", "=").empty());
  EXPECT_EQ(fields_in("a=b=c", "=").at("a"), "b=c");
  ensemble_facts facts = in_order();
  facts.servers[0].conf["tickTime"] = "many";
  EXPECT_EQ(facts.servers[0].number(facts.servers[0].conf, "tickTime"), std::nullopt);
}

}  // namespace
}  // namespace holdfast::zookeeper
