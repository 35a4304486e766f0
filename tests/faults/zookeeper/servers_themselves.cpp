// What the other tests believe of the servers that they start: that they are real, and do as they are told.

#include <gmock/gmock.h>
#include <thread>

#include "faults/faults.hpp"
#include "interop/kazoo.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace holdfast::faults {
namespace {

// Somebody else's client, so that this shows the servers and not ours.
using interop::kazoo;
using test::zookeeper_ensemble;
using test::zookeeper_server;
using testing::HasSubstr;

TEST(zookeeper_server_itself, serves_and_tells_what_it_counts) {
  const zookeeper_server server;
  EXPECT_EQ(server.mode(), "standalone");
  EXPECT_EQ(server.four_letter("ruok"), "imok");
  EXPECT_THAT(server.four_letter("envi"), HasSubstr("zookeeper.version=3."));
  EXPECT_EQ(server.monitored("zk_ephemerals_count"), 0);
  EXPECT_THROW((void)server.monitored("zk_nonsense"), std::runtime_error);
  EXPECT_EQ(server.url("/chroot"), "zk://127.0.0.1:" + std::to_string(server.port()) + "/chroot");
}

TEST(zookeeper_server_itself, grants_the_sessions_that_its_ticks_allow) {
  const zookeeper_server server;
  kazoo client{server.address(), "timeout=1000"};
  EXPECT_EQ(client.ask("lock exclusive /a"), "locked");
  EXPECT_EQ(server.monitored("zk_ephemerals_count"), 1);
  EXPECT_THAT(server.four_letter("cons"), HasSubstr("to=1000"));
  client.kill();
  await([&] { return server.monitored("zk_ephemerals_count") == 0; }, "its session does not expire");
}

TEST(zookeeper_server_itself, keeps_what_is_in_its_folder_and_loses_it_when_told) {
  zookeeper_server server;
  kazoo{server.address()}.ask("create /kept text");
  const auto port = server.port();
  server.kill();
  EXPECT_EQ(server.mode(), "");
  server.start();
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(kazoo{server.address()}.ask("tree /kept"), "tree /kept=text");
  server.kill();
  server.start_empty();
  EXPECT_EQ(kazoo{server.address()}.ask("tree /kept"), "tree none");
}

TEST(zookeeper_server_itself, stands_still) {
  zookeeper_server server;
  kazoo client{server.address(), "timeout=60000"};
  server.stop();
  client.tell("create /sent meanwhile");
  EXPECT_EQ(server.mode(), "");
  server.go_on();
  EXPECT_EQ(client.hear(), "created");
}

TEST(zookeeper_server_itself, removes_containers_as_often_as_it_is_told) {
  const zookeeper_server server{{.container_check = 50ms}};
  kazoo client{server.address()};
  EXPECT_EQ(client.ask("container /box"), "created");
  EXPECT_EQ(client.ask("lock exclusive /box"), "locked");
  EXPECT_EQ(client.ask("unlock"), "unlocked");
  await([&] { return client.ask("tree /box") == "tree none"; }, "the container stays");
}

TEST(zookeeper_ensemble_itself, serves_while_two_of_three_are_there) {
  zookeeper_ensemble three;
  const std::vector<std::string> modes{three[0].mode(), three[1].mode(), three[2].mode()};
  EXPECT_THAT(modes, testing::UnorderedElementsAre("follower", "follower", "leader"));
  kazoo client{three.addresses()};
  auto& led = three.leader();
  led.kill();
  auto& leads = three.leader();
  EXPECT_NE(&leads, &led);
  std::string answer;
  do {
    answer = client.ask("create /kept text");
  } while (answer.starts_with("failed ConnectionLoss"));
  // Where the reply was what was lost, it is there already.
  EXPECT_THAT(answer, testing::AnyOf("created", testing::StartsWith("failed NodeExists")));

  auto& follows = three.follower();
  follows.kill();
  await([&] { return leads.mode().empty(); }, "one of three goes on");
  three.start({&led, &follows});
  EXPECT_EQ(client.ask("tree /kept"), "tree /kept=text");
  EXPECT_EQ(kazoo{led.address()}.ask("tree /kept"), "tree /kept=text");
}

TEST(zookeeper_ensemble_itself, finds_another_leader_for_one_that_stands_still) {
  zookeeper_ensemble three;
  auto& led = three.leader();
  led.stop();
  EXPECT_NE(&three.leader(), &led);
  led.go_on();
  await([&] { return led.mode() == "follower"; }, "it does not follow");
}

}  // namespace
}  // namespace holdfast::faults
