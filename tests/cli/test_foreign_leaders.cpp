// SPDX-License-Identifier: Apache-2.0
// What the command says of a leader of another library, which takes part in elections on ZooKeeper.

#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/zookeeper_console.hpp"
#include "support/zookeeper_server.hpp"

namespace holdfast::test {
namespace {

class foreign_leaders : public command_test {};

TEST_F(foreign_leaders, are_shown_without_an_invented_process_id) {
  zookeeper_server server;
  zookeeper_console console{server.port()};
  console.create("/boss");
  console.create("/boss/_c_5b1c6a3e-7d52-4f0e-9a41-0c9d2b7e8f13-latch-", "theirs",
                 zookeeper_console::kind::sequential);
  const auto said = holdfast({"leader", "boss", "--json", "--store", server.url()});
  EXPECT_EQ(said.status, 0) << said.err;
  const json leader = parse_lines(said.out).at(0);
  EXPECT_EQ(leader["value"], "theirs");
  EXPECT_TRUE(leader.at("pid").is_null()) << leader;
  EXPECT_EQ(leader["host"], "");
}

}  // namespace
}  // namespace holdfast::test
