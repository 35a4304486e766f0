// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor` on Sentinels, a cluster, and a set of servers of which a majority decides.

#include <csignal>
#include <gmock/gmock.h>
#include <iterator>
#include <regex>
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

TEST_F(doctor_of_many, says_of_sentinels_what_the_golden_file_has) {
  sentinel_group group{patient()};
  const auto ports = group.sentinel_ports();
  doctor_record said{"sentinel"};
  for (std::size_t i = 0; i < ports.size(); ++i)
    said.replace(place(ports[i]), "SENTINEL" + std::to_string(i + 1));
  said.replace(place(group.port(group.primary_index())), "PRIMARY");
  said.replace_all("version of PRIMARY: kept: .*", "version of PRIMARY: kept: 7");
  said.replace_all(R"(for \d+ s)", "for N s");
  const auto url = group.guarded_url();
  look(said, "all in order but for the primary", url);
  look(said, "the URL names one of three, and turns the guard off", group.url_at({ports[0]}));
  group.sentinel(1).ask({"SENTINEL", "REMOVE", "mymaster"});
  look(said, "one does not know the primary", url);
  group.sentinel(2).ask({"SENTINEL", "REMOVE", "mymaster"});
  look(said, "two do not know the primary", url);
  group.sentinel(2).kill();
  look(said, "one of these is away", url);
  group.sentinel(0).ask({"SENTINEL", "REMOVE", "mymaster"});
  look(said, "none knows the primary", url);
  said.compare();
}

TEST_F(doctor_of_many, says_of_a_cluster_what_the_golden_file_has) {
  redis_cluster::settings options;
  options.replicas = 0;
  options.node_timeout = std::chrono::seconds{15};  // no node is down for a pause
  options.lines = {"cluster-require-full-coverage no"};
  redis_cluster cluster{options};
  doctor_record said{"cluster"};
  for (std::size_t i = 0; i < 3; ++i) said.replace(place(cluster.port(i)), "NODE" + std::to_string(i + 1));
  said.replace_all("version of (NODE.): kept: .*", "version of $1: kept: 7");
  const auto url = cluster.guarded_url();
  look(said, "all in order but for replicas", url);
  cluster.node(0).ask({"ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all", "-cluster|info"});
  for (std::size_t i = 1; i < 3; ++i)
    cluster.node(i).ask({"ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all"});
  auto blind = url;
  look(said, "a user who may not ask for the state", blind.insert(blind.find("//") + 2, "blind:secret@"));
  cluster.node(1).ask({"CONFIG", "SET", "maxmemory", "1gb"});
  cluster.node(1).ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"});
  look(said, "one may evict keys", url);
  cluster.node(2).kill();
  look(said, "one is away", url);
  cluster.node(0).ask({"CLUSTER", "DELSLOTS", "0"});
  look(said, "a slot has no primary", url);
  said.compare();
}

TEST_F(doctor_of_many, hears_a_sentinel_that_reaches_too_few_others) {
  sentinel_group group{patient()};
  const auto url = group.url_at({group.sentinel_ports()[1]});
  const auto quorum = [&] { return findings_of("quorum", url, 2).at(0); };
  EXPECT_THAT(quorum(), HasSubstr(" kept: 1 of 1 Sentinels of the URL could decide"));
  group.sentinel(1).ask({"SENTINEL", "SET", "mymaster", "down-after-milliseconds", "1000"});
  group.sentinel(0).kill();
  group.sentinel(2).kill();
  EXPECT_TRUE(eventually([&] { return quorum().find(" broken: ") != std::string::npos; }));
  EXPECT_THAT(findings_of("sentinel", url, 2).at(0),
              HasSubstr(" warning: it says: NOQUORUM 1 usable Sentinels"));
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
         std::to_string(group.port(group.primary_index())) + " QUORUM; ");
  wrong.ask({"SENTINEL", "RESET", "mymaster"});
  EXPECT_EQ(condition(url, "primary", 2)["result"], "broken") << "that keeps the address";

  const std::string remedy = found["remedy"];
  for (auto at = remedy.find("SENTINEL "); remedy.substr(at, 12) != "SENTINEL SET";
       at = remedy.find("SENTINEL ", at + 1)) {
    std::istringstream words{
        std::regex_replace(remedy.substr(at, remedy.find(';', at) - at), std::regex{"QUORUM"}, "2")};
    EXPECT_EQ(wrong.ask(strings{std::istream_iterator<std::string>{words}, {}}), "OK") << words.str();
  }
  is_kept(condition(url, "primary", 1));
}

TEST_F(doctor_of_many, tells_what_the_nodes_say_of_their_cluster) {
  redis_cluster::settings options;
  options.node_timeout = std::chrono::seconds{15};  // no node is down for a pause
  options.lines = {"cluster-require-full-coverage no"};
  redis_cluster cluster{options};
  for (std::size_t i = 0; i < cluster.node_count(); ++i)
    cluster.node(i).ask({"CONFIG", "SET", "cluster-replica-no-failover", "yes"});
  const auto url = cluster.guarded_url();
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
  cluster.node(1).kill();
  EXPECT_TRUE(is_eventually(" broken: cluster_state is fail")) << state(0);
}

}  // namespace
}  // namespace holdfast::test
