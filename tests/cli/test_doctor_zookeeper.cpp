// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor` on real ZooKeepers: each test breaks one condition, and sees it named.

#include <chrono>

#include "doctor_fixture.hpp"
#include "support/zookeeper_console.hpp"
#include "support/zookeeper_ensemble.hpp"
#include "support/zookeeper_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class doctor_on_zookeeper : public doctor_test {
 protected:
  static zookeeper_server::settings forced() {
    zookeeper_server::settings s;
    s.options = {"-Dzookeeper.forceSync=yes"};
    return s;
  }
  /// With time for servers that do answer, unless the test names another.
  static std::string with_time(const std::string& store) {
    if (store.find("connect_timeout=") != std::string::npos) return store;
    return store + (store.find('?') == std::string::npos ? '?' : '&') + "connect_timeout=1m";
  }
  json condition(const std::string& store, const std::string& name, std::optional<int> status) {
    return doctor_test::condition(with_time(store), name, status);
  }
};

TEST_F(doctor_on_zookeeper, says_of_servers_in_each_state_what_the_golden_file_has) {
  doctor_record said{"zookeeper"};
  said.replace_all(R"(127\.0\.0\.1:\d+)", "SERVER");
  said.replace_all(R"(forced writes to its disk \d+ times)", "forced writes to its disk N times");
  said.replace_all(R"(it wrote \d+ times)", "it wrote N times");
  const auto look_at = [&](const std::string& state, const std::string& url) {
    look(said, state, with_time(url));
  };
  {
    zookeeper_server server{forced()};
    zookeeper_console console{server.port()};
    console.create("/readable", {}, zookeeper_console::kind::persistent, {{1, "world", "anyone"}});
    console.create("/closed", {}, zookeeper_console::kind::persistent, {{31, "digest", "app:hash"}});
    console.create("/near", {}, zookeeper_console::kind::persistent, {{31, "ip", "10.0.0.0/8"}});
    console.create("/open");
    look_at("one server", server.url());
    EXPECT_EQ(console.children("/").size(), 5U) << "it makes no node";
    look_at("a root that is not there", server.url("/open/not/yet"));
    look_at("a root that this client may not write", server.url("/readable"));
    look_at("a root that this client may not read", server.url("/closed/below"));
    look_at("a root for an address", server.url("/near"));
    look_at("a root that everybody may write", server.url("/open?auth=digest:app:geheim&acl=auth"));
    look_at("a longer session than the server has", server.url("?session_timeout=2m"));
    look_at("a session of few ticks", server.url("?session_timeout=1s"));
    zookeeper_server other{forced()};
    zookeeper_console{other.port()}.create("/x");
    look_at("two servers that stand alone", "zk://" + server.address() + ',' + other.address());
  }
  {
    zookeeper_server server;
    look_at("no forced writes", server.url());
  }
  {
    auto narrow = forced();
    narrow.lines = {"4lw.commands.whitelist=srvr,conf"};
    look_at("a command that may not be asked", zookeeper_server{narrow}.url());
  }
  said.compare();
}

TEST_F(doctor_on_zookeeper, finds_an_ensemble_in_order_makes_no_node_and_finds_servers_that_are_away) {
  zookeeper_ensemble servers{forced()};
  zookeeper_console console{servers[0].port()};
  console.log_in("any:one");  // its session is written by all servers, sooner or later
  for (std::size_t i = 0; i < zookeeper_ensemble::size; ++i)
    ASSERT_TRUE(eventually([&] { return servers[i].monitored("zk_cnt_fsynctime") > 0; }));
  const auto run = holdfast({"doctor", "--store", servers.url("/app"), "--all"});
  EXPECT_EQ(run.status, status_in_order()) << run.out << run.err;
  EXPECT_THAT(
      of_store(run.out),
      AllOf(HasSubstr("the ensemble: all 5 checks passed"), HasSubstr("kept     role: its mode is leader"),
            HasSubstr("kept     forceSync: it forced writes"), Not(HasSubstr("mend:"))));
  EXPECT_EQ(console.children("/"), strings{"zookeeper"});

  const std::string url = servers.url("?connect_timeout=2s");
  servers[0].kill();
  is(condition(url, "answer", 1), "warning", "Connection refused");
  servers[1].kill();
  ASSERT_TRUE(eventually([&] { return servers[2].mode().empty(); }));
  is(condition(url, "role", 2), "broken", "it knows no leader");
  is(condition(url, "leader", 2), "broken", "no server serves");
  servers[2].kill();
  const auto without_servers = holdfast({"doctor", "--store", url});
  EXPECT_EQ(without_servers.status, 69) << without_servers.out;
  EXPECT_THAT(without_servers.err, HasSubstr("cannot examine zk://"));
}

TEST_F(doctor_on_zookeeper, finds_bounds_that_are_too_low_or_differ_and_local_sessions) {
  auto local = forced();
  local.lines = {"localSessionsEnabled=true"};
  auto low = local;
  low.lines.push_back("minSessionTimeout=300");
  zookeeper_ensemble servers{{low, local, local}};
  is(condition(servers.follower().url(), "local sessions", 2), "broken", "1 sessions are local");
  is(condition(servers.url(), "session bounds", 2), "broken", "minSessionTimeout is 300 ms");
  is(condition(servers.url(), "same bounds", 2), "broken", "300 to 60000 ms");
}

/// In a mount namespace, whose table of hosts has a name with two addresses, in whichever order it is found.
TEST_F(doctor_on_zookeeper, tries_each_address_of_a_name) {
  write_file(file("hosts"), "127.0.0.9 pair\n127.0.0.1 pair\n");
  const auto in_namespace = [&](strings arguments) {
    strings all{"unshare",    "--map-root-user",
                "--mount",    "sh",
                "-c",         "mount --bind \"$0\" /etc/hosts && exec \"$@\"",
                file("hosts")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return process{scratch_, all, {environment()}}.wait();
  };
  if (in_namespace({"true"}).status != 0) GTEST_SKIP() << "a mount namespace is not permitted here";
  for (const char* host : {"127.0.0.1", "127.0.0.9"}) {
    zookeeper_server::settings there = forced();
    there.host = host;
    zookeeper_server server{there};
    const auto run = in_namespace(
        {HOLDFAST_COMMAND, "doctor", "--all", "--store", "zk://pair:" + std::to_string(server.port())});
    EXPECT_THAT(run.out, HasSubstr("role: its mode is standalone")) << host << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("Connection refused"))) << host;
  }
}

}  // namespace
}  // namespace holdfast::test
