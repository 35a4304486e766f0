// SPDX-License-Identifier: Apache-2.0
// A store that has fallen silent by the time that the command ends.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class run_at_a_mute_store : public command_test {};

/// Not for as long as the lock would last, here for ten minutes.
TEST_F(run_at_a_mute_store, gives_up_letting_go_of_the_lock_and_passes_on_the_status) {
  redis_server server;
  auto wrapper =
      start({"run", "x", "--ttl", "10m", "--store", server.url(), "--", "sh", "-c",
             "touch " + file("ready") + "; while [ ! -e " + file("go") + " ]; do sleep 0.01; done; exit 5"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("ready")); }));
  server.stop();
  std::ofstream{file("go")} << "on";
  const auto ended = wrapper->wait();
  server.go_on();
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.err, HasSubstr("could not be confirmed"));
}

/// A second Ctrl-C, or the SIGHUP of a terminal that was closed, comes while the lock is released.
TEST_F(run_at_a_mute_store, no_signal_keeps_it_from_the_release) {
  redis_server server;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) {
    const auto name = "x" + std::to_string(number);
    auto wrapper = start({"run", name, "--ttl", "10m", "--store", server.url(), "--", "sh", "-c",
                          "echo $$ >" + file(name) + "; while [ ! -e " + file(name + "go") +
                              " ]; do sleep 0.01; done; exit 5"});
    ASSERT_TRUE(eventually([&] { return contents(file(name)).ends_with('\n'); }));
    const pid_t command = std::stoi(contents(file(name)));
    server.stop();
    std::ofstream{file(name + "go")} << "on";
    EXPECT_TRUE(eventually([&] { return !state_of(command); }));  // reaped: the release is next
    wrapper->signal(number);
    server.go_on();
    const auto ended = wrapper->wait();
    EXPECT_EQ(ended.status, 5) << "signal " << number;
    if (!ended.err.empty()) continue;  // this process stood still, and the release was given up meanwhile
    const auto shown = parse_lines(holdfast({"show", name, "--json", "--store", server.url()}).out);
    EXPECT_TRUE(shown.at(0)["holders"].empty()) << "signal " << number;
  }
}

/// Scripts go by the status: that somebody else has the lock is no reason to worry, and this is.
TEST_F(run_at_a_mute_store, does_not_take_silence_for_somebody_who_holds) {
  redis_server server;
  const auto url = server.url("?answer_timeout=1h");  // so that nothing but the command's own limits ends it
  EXPECT_EQ(holdfast({"run", "x", "--store", url, "--", "true"}).status, 0);
  server.stop();
  // `show` ends by the retry limit of the client, as this would without limits of its own: it would be the
  // last then. After a stall of the machine both may have ended, and it is tried again.
  const auto ends_first = [&] {
    const auto show = start({"show", "x", "--store", url});
    const auto refused = holdfast({"run", "x", "--wait", "1s", "--store", url, "--", "true"});
    EXPECT_EQ(refused.status, 69);
    EXPECT_THAT(refused.err, HasSubstr("no connection within"));
    return show->running();
  };
  EXPECT_TRUE(ends_first() || ends_first() || ends_first());
  server.go_on();
}

TEST_F(run_at_a_mute_store, waits_for_a_server_that_grants_nothing_yet) {
  const redis_server server;  // it has just started, which its guard counts from
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.port()) + "?failover_guard=7s";
  const auto one = start({"run", "x", "--ttl", "6s", "--store", url, "--", "true"});
  const auto several = start({"run", "y", "--and", "z", "--ttl", "6s", "--store", url, "--", "true"});
  EXPECT_EQ(one->wait().status, 0);
  EXPECT_EQ(several->wait().status, 0);
}

/// In a container or by cron nobody sees the line of a terminal.
TEST_F(run_at_a_mute_store, says_once_why_a_server_that_has_started_grants_nothing) {
  const redis_server server;
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.port()) + "?failover_guard=1h";
  const auto quiet = start({"run", "x", "-q", "--store", url, "--", "true"});
  const auto waiter = start({"run", "x", "--store", url, "--", "true"});
  EXPECT_TRUE(eventually([&] { return waiter->err().ends_with('\n'); }));
  EXPECT_THAT(holdfast({"ls", "--store", url}).out,
              ContainsRegex("\n\nnothing is granted for [0-9hms]+ more: the server was started "));
  waiter->signal(SIGTERM);
  const auto ended = waiter->wait();
  EXPECT_EQ(ended.status, 128 + SIGTERM);
  EXPECT_THAT(ended.err, AllOf(StartsWith("holdfast: waiting for the lock 'x': the server was started "),
                               HasSubstr("it grants nothing new for "), EndsWith(" a failover\n")));
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1);
  quiet->signal(SIGTERM);
  EXPECT_EQ(quiet->wait().err, "");
}

/// Whoever waits for a lock, or watches, is not kept from its signals and its limit by a store that is
/// silent.
class asking_a_mute_store : public command_test {
 protected:
  asking_a_mute_store() {
    EXPECT_EQ(holdfast({"run", "x", "--store", server_.url(), "--", "true"}).status, 0);
    server_.stop();
  }
  ~asking_a_mute_store() override { server_.go_on(); }

  /// The status with which the command ends that is sent a signal while it asks.
  int interrupted(std::vector<std::string> command, int signal) {
    command.insert(command.end(), {"--store", server_.url()});
    const auto asking = start(command);
    const auto takes_signals = [&] {
      const auto status = contents("/proc/" + std::to_string(asking->pid()) + "/status");
      const auto blocked = status.find("SigBlk:");
      return blocked != std::string::npos && (std::stoull(status.substr(blocked + 7), nullptr, 16) & 2U) != 0;
    };
    EXPECT_TRUE(eventually(takes_signals));
    ::kill(asking->pid(), signal);
    return asking->wait().status;
  }

  redis_server server_;
};

TEST_F(asking_a_mute_store, ends_with_the_limit) {
  for (const std::string limit : {"0", "100ms"}) {
    const auto refused = holdfast({"wait", "x", "--wait", limit, "--store", server_.url()});
    EXPECT_EQ(refused.status, 69);
    EXPECT_THAT(refused.err, HasSubstr("it is not known whether the lock 'x' is free"));
  }
}

TEST_F(asking_a_mute_store, tells_the_cause_of_a_wait_without_an_answer) {
  const auto refused = holdfast({"wait", "x", "--wait", "100ms", "--store", "redis://127.0.0.1:1"});
  EXPECT_EQ(refused.status, 69);
  EXPECT_THAT(refused.err, HasSubstr("Connection refused"));
}

TEST_F(asking_a_mute_store, ends_with_a_signal) {
  EXPECT_EQ(interrupted({"watch"}, SIGINT), 0);
  EXPECT_EQ(interrupted({"watch", "x"}, SIGTERM), 0);
  EXPECT_EQ(interrupted({"wait", "x"}, SIGTERM), 128 + SIGTERM);
}

TEST_F(run_at_a_mute_store, tells_of_holders_that_are_not_ours) {
  redis_server server;
  ASSERT_EQ(server.ask({"SET", "holdfast:x", "somebody"}), "OK");
  const auto refused = holdfast({"run", "x", "--wait", "0", "--store", server.url(), "--", "true"});
  EXPECT_EQ(refused.status, 75);
  EXPECT_THAT(refused.err, HasSubstr("a client of another library (somebody)"));
}

}  // namespace
}  // namespace holdfast::test
