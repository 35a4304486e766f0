// SPDX-License-Identifier: Apache-2.0
// What is told on a terminal while people wait, and that pipes get none of it. `run` and `wait` have theirs
// in test_terminal.cpp, `schema` in test_schema.cpp.

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "terminal.hpp"

namespace holdfast::test {
namespace {

class progress : public command_test {
 protected:
  terminal open(strings arguments) {
    arguments.insert(arguments.begin(), HOLDFAST_COMMAND);
    auto variables = environment();
    variables.insert(variables.end(), {"TERM=xterm", "TMPDIR=" + file("tmp")});
    return {std::move(arguments), environment_with(variables)};
  }
  void SetUp() override { std::filesystem::create_directory(file("tmp")); }
};

TEST_F(progress, a_listing_tells_for_how_long_it_has_taken) {
  redis_server server;
  fault_proxy line{server.port()};
  const auto url = "redis://127.0.0.1:" + std::to_string(line.port()) + "?failover_guard=0";
  line.interfere(direction::to_client, {.stall = true});
  const auto piped = start({"ls", "--store", url});
  auto screen = open({"ls", "--store", url});
  EXPECT_TRUE(screen.shows("listing the locks of redis://127.0.0.1:" + std::to_string(line.port())));
  line.heal();
  EXPECT_TRUE(screen.shows("\x1b[K")) << "the line is wiped";
  EXPECT_TRUE(screen.shows("no lock is held"));
  EXPECT_EQ(screen.wait(), 0);
  const auto said = piped->wait();
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.out + said.err, "");
}

TEST_F(progress, a_measurement_that_counts_tells_how_much_is_done) {
  auto screen = open({"bench", "pair", "--count", "100000000"});
  EXPECT_TRUE(screen.shows("pair: "));
  EXPECT_TRUE(screen.shows(" of 100000000 pairs"));
  screen.type("\x03");
  EXPECT_EQ(screen.wait(), 128 + SIGINT);
}

TEST_F(progress, a_measurement_that_takes_a_time_tells_how_much_is_over) {
  auto screen = open({"bench", "spread", "--duration", "1h"});
  EXPECT_TRUE(screen.shows(" pairs, "));
  EXPECT_TRUE(screen.shows(" s of 3600 s"));
  screen.type("\x03");
  EXPECT_EQ(screen.wait(), 128 + SIGINT);
}

TEST_F(progress, contending_processes_tell_grants_and_time) {
  auto screen = open({"bench", "handoff", "--count", "100000000", "--processes", "2", "--concurrency", "1"});
  EXPECT_TRUE(screen.shows(" of 100000000 grants"));
  screen.type("\x03");
  EXPECT_EQ(screen.wait(), 128 + SIGINT);
}

TEST_F(progress, a_measurement_tells_a_pipe_nothing) {
  const auto said = holdfast({"bench", "pair", "--duration", "2s"}, {{"TMPDIR=" + file("tmp")}, ""});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.err, "");
}

}  // namespace
}  // namespace holdfast::test
