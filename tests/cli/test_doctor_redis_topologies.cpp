// `holdfast doctor` on Sentinels, a cluster, and a set of servers of which a majority decides.

#include <csignal>
#include <gmock/gmock.h>
#include <iterator>
#include <sstream>

#include "doctor_fixture.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_quorum.hpp"
#include "support/sentinel_group.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class doctor_of_many : public doctor_test {
 protected:
  /// The findings of one condition as `subject result: observed`.
  strings findings_of(const std::string& condition, const std::string& store, int status) {
    strings all;
    for (const auto& each : findings(store, status)) {
      if (each["condition"] != condition) continue;
      all.push_back(each["subject"].get<std::string>() + " " + each["result"].get<std::string>() + ": " +
                    each["observed"].get<std::string>());
    }
    return all;
  }
  static std::string place(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }
};

/// That do not fail over by themselves.
sentinel_group::settings patient() {
  sentinel_group::settings options;
  options.down_after = std::chrono::seconds{60};
  return options;
}

TEST_F(doctor_of_many, hears_all_sentinels_and_examines_their_primary) {
  sentinel_group group{patient()};
  const auto primary = place(group.port(group.primary_index()));
  const auto url = group.guarded_url();
  EXPECT_THAT(
      findings_of("primary", url, 1),
      ElementsAre("the primary 'mymaster' kept: the Sentinels that answer say that it is at " + primary));
  EXPECT_THAT(
      findings_of("quorum", url, 1),
      ElementsAre("the primary 'mymaster' kept: 3 of 3 Sentinels can vote on a failover, and 2 have to"));
  EXPECT_THAT(findings_of("size", url, 1), ElementsAre(HasSubstr(" kept: 3 Sentinels monitor it")));
  EXPECT_TRUE(findings_of("addresses", url, 1).empty());
  EXPECT_THAT(findings_of("role", url, 1), Contains(primary + " kept: it is a primary"));
  EXPECT_THAT(
      findings_of("replicas", url, 1),
      Contains(primary +
               " warning: it has 2 replicas, and min-replicas-to-write or min-replicas-max-lag is 0"));
}

TEST_F(doctor_of_many, counts_the_sentinels_that_the_url_does_not_name) {
  sentinel_group group{patient()};
  const auto ports = group.sentinel_ports();
  const auto one = group.url_at({ports[0]});
  EXPECT_THAT(findings_of("quorum", one, 2), ElementsAre(HasSubstr(" kept: 3 of 3 Sentinels can vote")));
  EXPECT_THAT(findings_of("addresses", one, 2), ElementsAre(HasSubstr("warning: the URL names one of them")));

  // A Sentinel that is away counts for the others until they have noticed.
  const auto two = group.url_at({ports[0], ports[1]});
  group.sentinel(1).ask({"SENTINEL", "SET", "mymaster", "down-after-milliseconds", "1000"});
  group.sentinel(0).kill();
  EXPECT_THAT(findings_of("sentinel", two, 2),
              Contains(HasSubstr(place(ports[0]) + " warning: cannot connect")));
  const auto quorum = [&] { return findings_of("quorum", two, 2).at(0); };
  EXPECT_TRUE(
      eventually([&] { return quorum().find(" warning: 2 of 3 Sentinels can vote") != std::string::npos; }));
  group.sentinel(2).kill();
  EXPECT_TRUE(eventually([&] { return quorum().find(" broken: ") != std::string::npos; }));
  EXPECT_THAT(quorum(), HasSubstr(place(ports[1]) + " says: NOQUORUM 1 usable Sentinels"));
}

TEST_F(doctor_of_many, finds_sentinels_that_are_too_few) {
  sentinel_group group{patient()};
  const auto ports = group.sentinel_ports();
  group.sentinel(2).kill();
  for (const std::size_t each : {0U, 1U}) group.sentinel(each).ask({"SENTINEL", "RESET", "mymaster"});
  const auto two = group.url_at({ports[0], ports[1]});
  EXPECT_TRUE(eventually([&] {
    const auto found = findings_of("size", two, 2);
    return found.size() == 1 && found[0].find(" warning: 2 Sentinels monitor it") != std::string::npos;
  }));
}

TEST_F(doctor_of_many, counts_no_sentinel_that_does_not_know_the_primary) {
  sentinel_group group{patient()};
  const auto url = group.guarded_url();
  group.sentinel(1).ask({"SENTINEL", "REMOVE", "mymaster"});
  EXPECT_THAT(findings_of("sentinel", url, 1), Contains(place(group.sentinel_ports()[1]) +
                                                        " warning: it does not know the primary 'mymaster'"));
  EXPECT_THAT(findings_of("quorum", url, 1), ElementsAre(HasSubstr(" warning: 2 of 3 Sentinels can vote")));
  group.sentinel(2).ask({"SENTINEL", "REMOVE", "mymaster"});
  EXPECT_THAT(findings_of("quorum", url, 2), ElementsAre(HasSubstr(" says: 1 of 3 Sentinels can vote")));
}

TEST_F(doctor_of_many, names_the_commands_that_make_sentinels_agree) {
  sentinel_group group{patient()};
  const auto url = group.guarded_url();
  redis_server another;
  redis_server& wrong = group.sentinel(2);
  wrong.ask({"SENTINEL", "REMOVE", "mymaster"});
  wrong.ask({"SENTINEL", "MONITOR", "mymaster", "127.0.0.1", std::to_string(another.port()), "2"});
  const auto primary = place(group.port(group.primary_index()));
  const auto found = condition(url, "primary", 2);
  is(found, "broken",
     "most Sentinels say that it is at " + primary + ", and " + place(group.sentinel_ports()[2]) +
         " that it is at " + place(another.port()),
     "at " + place(group.sentinel_ports()[2]) +
         ": SENTINEL REMOVE mymaster; SENTINEL MONITOR mymaster 127.0.0.1 " +
         std::to_string(group.port(group.primary_index())) + " 2; ");
  wrong.ask({"SENTINEL", "RESET", "mymaster"});
  EXPECT_EQ(condition(url, "primary", 2)["result"], "broken") << "that keeps the address";

  const std::string remedy = found["remedy"];
  for (auto at = remedy.find("SENTINEL "); remedy.substr(at, 12) != "SENTINEL SET";
       at = remedy.find("SENTINEL ", at + 1)) {
    std::istringstream words{remedy.substr(at, remedy.find(';', at) - at)};
    EXPECT_EQ(wrong.ask(strings{std::istream_iterator<std::string>{words}, {}}), "OK") << words.str();
  }
  is_kept(condition(url, "primary", 1));
}

TEST_F(doctor_of_many, examines_each_primary_of_a_cluster) {
  redis_cluster::settings options;
  options.replicas = 0;
  options.node_timeout = std::chrono::seconds{15};  // no node is down for a pause
  options.lines = {"cluster-require-full-coverage no"};
  redis_cluster cluster{options};
  const auto url = cluster.guarded_url();
  EXPECT_EQ(findings_of("slots", url, 1), strings{"cluster kept: each slot has a primary"});
  EXPECT_EQ(findings_of("eviction", url, 1).size(), 3U);
  EXPECT_THAT(findings_of("failover", url, 1),
              AllOf(SizeIs(3), Each(HasSubstr(" warning: no replica follows it"))));
  EXPECT_THAT(findings_of("cluster state", url, 1),
              AllOf(SizeIs(3), Each(HasSubstr(" kept: cluster_state is ok"))));
  cluster.node(1).ask({"CONFIG", "SET", "maxmemory", "1gb"});
  cluster.node(1).ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"});
  EXPECT_THAT(findings_of("eviction", url, 2),
              Contains(place(cluster.port(1)) + " broken: maxmemory-policy is allkeys-lfu"));
  cluster.node(2).kill();
  EXPECT_THAT(findings_of("answer", url, 2), Contains(HasSubstr(place(cluster.port(2)) + " broken: ")));
  cluster.node(0).ask({"CLUSTER", "DELSLOTS", "0"});
  EXPECT_THAT(findings_of("slots", url, 2), Contains("cluster broken: 1 slots have no primary"));
}

TEST_F(doctor_of_many, tells_what_the_nodes_say_of_their_cluster) {
  redis_cluster::settings options;
  options.node_timeout = std::chrono::seconds{15};  // no node is down for a pause
  options.lines = {"cluster-require-full-coverage no"};
  redis_cluster cluster{options};
  for (std::size_t i = 0; i < cluster.node_count(); ++i)
    cluster.node(i).ask({"CONFIG", "SET", "cluster-replica-no-failover", "yes"});
  const auto url = cluster.guarded_url();
  EXPECT_THAT(findings_of("failover", url, 1),
              AllOf(SizeIs(3), Each(HasSubstr(" kept: 1 replica follows it"))));
  const auto state = [&](std::size_t node) {
    for (const auto& each : findings_of("cluster state", url, 2))
      if (each.starts_with(place(cluster.port(node)))) return each;
    return std::string{};
  };
  const auto is_eventually = [&](const std::string& observed) {
    return eventually([&] { return state(0).find(observed) != std::string::npos; });
  };
  for (std::size_t i = 0; i < cluster.node_count(); ++i)
    cluster.node(i).ask({"CONFIG", "SET", "cluster-node-timeout", "1500"});
  cluster.node(2).kill();
  EXPECT_TRUE(is_eventually(" warning: cluster_state is ok, and the primary of 54")) << state(0);
  cluster.node(1).kill();
  EXPECT_TRUE(is_eventually(" broken: cluster_state is fail")) << state(0);
}

TEST_F(doctor_of_many, examines_each_server_of_a_set) {
  redis_quorum::settings options;
  options.servers = 3;
  options.own_clock = true;
  redis_quorum set{options};
  EXPECT_THAT(findings_of("majority", set.url(), 2), Contains("the set kept: 3 of 3 servers answer"));
  EXPECT_THAT(findings_of("persistence", set.url(), 2),
              Contains(HasSubstr(" broken: appendonly is no, and the guard is off")));
  EXPECT_THAT(findings_of("vote", set.guarded_url(), 1),
              Contains(HasSubstr(" and may have forgotten its votes")));
  EXPECT_THAT(findings_of("clocks", set.guarded_url(), 1),
              Contains("the set kept: the servers' clocks agree"));
  set.server(0).set_clock(std::chrono::hours{1});
  EXPECT_THAT(findings_of("clocks", set.guarded_url(), 2),
              Contains(HasSubstr("the set broken: the clocks of ")));
  set.server(0).set_clock(std::chrono::milliseconds{0});

  const auto twice = "redlock://" + place(set.server(0).port()) +
                     ",localhost:" + std::to_string(set.server(0).port()) + "," + place(set.server(1).port());
  EXPECT_THAT(findings_of("vote", twice, 2), Contains(HasSubstr("broken: it is the same server as ")));

  set.server(0).kill();
  EXPECT_THAT(findings_of("majority", set.guarded_url(), 1), Contains("the set kept: 2 of 3 servers answer"));
  EXPECT_THAT(findings_of("answer", set.guarded_url(), 1),
              Contains(HasSubstr(place(set.server(0).port()) + " warning: cannot connect")));
  set.server(1).kill();
  EXPECT_THAT(findings_of("majority", set.guarded_url(), 2),
              Contains("the set broken: 1 of 3 servers answer"));
  set.server(2).kill();
  EXPECT_EQ(holdfast({"doctor", "--store", set.guarded_url()}).status, 69);
}

}  // namespace
}  // namespace holdfast::test
