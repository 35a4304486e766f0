// `holdfast doctor` on Sentinels, a cluster, and a set of servers of which a majority decides.

#include <csignal>
#include <gmock/gmock.h>

#include "doctor_fixture.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_quorum.hpp"
#include "support/sentinel_group.hpp"

namespace holdfast::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

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

TEST_F(doctor_of_many, hears_all_sentinels_and_examines_their_primary) {
  sentinel_group::settings options;
  options.down_after = std::chrono::seconds{60};
  sentinel_group group{options};
  const auto primary = place(group.port(group.primary_index()));
  const auto url = group.guarded_url();
  EXPECT_THAT(findings_of("quorum", url, 1),
              Contains("the primary 'mymaster' kept: 3 of 3 Sentinels say that it is " + primary));
  EXPECT_THAT(findings_of("role", url, 1), Contains(primary + " kept: it is a primary"));
  EXPECT_THAT(
      findings_of("replicas", url, 1),
      Contains(primary +
               " warning: it has 2 replicas, and min-replicas-to-write or min-replicas-max-lag is 0"));

  group.sentinel(0).kill();
  EXPECT_THAT(findings_of("sentinel", url, 1),
              Contains(HasSubstr(place(group.sentinel_ports()[0]) + " warning: cannot connect")));
  EXPECT_THAT(findings_of("quorum", url, 1), Contains(HasSubstr(" kept: 2 of 3 Sentinels say")));
  group.sentinel(1).ask({"SENTINEL", "REMOVE", "mymaster"});
  EXPECT_THAT(findings_of("sentinel", url, 2), Contains(place(group.sentinel_ports()[1]) +
                                                        " warning: it does not know the primary 'mymaster'"));
  EXPECT_THAT(findings_of("quorum", url, 2), Contains(HasSubstr(" broken: 1 of 3 Sentinels say")));
}

TEST_F(doctor_of_many, examines_each_primary_of_a_cluster) {
  redis_cluster::settings options;
  options.replicas = 0;
  options.lines = {"cluster-require-full-coverage no"};
  redis_cluster cluster{options};
  const auto url = cluster.guarded_url();
  EXPECT_EQ(findings_of("slots", url, 0), strings{"cluster kept: each slot has a primary"});
  EXPECT_EQ(findings_of("eviction", url, 0).size(), 3U);
  cluster.node(1).ask({"CONFIG", "SET", "maxmemory", "1gb"});
  cluster.node(1).ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"});
  EXPECT_THAT(findings_of("eviction", url, 2),
              Contains(place(cluster.port(1)) + " broken: maxmemory-policy is allkeys-lfu"));
  cluster.node(2).kill();
  EXPECT_THAT(findings_of("answer", url, 2), Contains(HasSubstr(place(cluster.port(2)) + " broken: ")));
  cluster.node(0).ask({"CLUSTER", "DELSLOTS", "0"});
  EXPECT_THAT(findings_of("slots", url, 2), Contains("cluster broken: 1 slots have no primary"));
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
