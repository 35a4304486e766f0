// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <string>
#include <unistd.h>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

class run_signals : public command_test {
 protected:
  /// In the file "log", which the scripts below append to.
  bool line_appears(const std::string& line) {
    return eventually([&] {
      std::ifstream log{file("log")};
      for (std::string each; std::getline(log, each);) {
        if (each == line) return true;
      }
      return false;
    });
  }
};

TEST_F(run_signals, are_forwarded_to_the_command) {
  // The traps are in place before the script says that it has begun.
  std::string traps;
  for (const auto* name : {"HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "WINCH"}) {
    traps += std::string{"trap 'echo "} + name + " >>$D/log' " + name + "; ";
  }
  const auto wrapper = start_holder("x", {}, traps + "echo ready >>$D/log; while :; do sleep 0.01; done");
  ASSERT_TRUE(line_appears("ready"));
  const std::vector<std::pair<int, std::string>> signals{
      {SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGTERM, "TERM"},
      {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGALRM, "ALRM"}, {SIGWINCH, "WINCH"}};
  for (const auto& [number, name] : signals) {
    wrapper->signal(number);
    EXPECT_TRUE(line_appears(name));
  }
  EXPECT_TRUE(wrapper->running());
}

TEST_F(run_signals, reach_the_whole_group_and_decide_the_status) {
  auto wrapper = start_holder("x", {}, "sleep 1000 & echo $! >$D/grandchild; wait");
  ASSERT_TRUE(eventually([&] { return contents(file("grandchild")).ends_with('\n'); }));
  const pid_t grandchild = std::stoi(contents(file("grandchild")));
  wrapper->signal(SIGTERM);
  EXPECT_EQ(wrapper->wait().status, 128 + SIGTERM);
  EXPECT_TRUE(eventually([&] { return is_dead(grandchild); }));
  EXPECT_FALSE(held("x"));
}

TEST_F(run_signals, stop_and_continue_the_command_while_the_lock_is_kept) {
  // Not a shell that starts others: while it does, one that is stopped shows another state.
  auto wrapper = start_holder("x", {"--ttl", "15s"}, "exec sleep 1000");
  wrapper->signal(SIGTSTP);
  ASSERT_TRUE(eventually([&] { return state_of(holder_pid()) == 'T'; }));
  const auto expires_in = [&] { return show("x")["holders"].at(0)["expires_in_s"].get<double>(); };
  // Renewed while the command is stopped: what is left goes up again.
  double least = expires_in();
  EXPECT_TRUE(eventually([&] {
    const double now = expires_in();
    const bool renewed = now > least + 0.1;
    least = std::min(least, now);
    return renewed;
  }));
  wrapper->signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return state_of(holder_pid()) != 'T'; }));
  EXPECT_TRUE(wrapper->running());
}

TEST_F(run_signals, that_are_refused_are_reported_once) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start a command of another user";
  // Root without the right to signal other users' processes, as any user is beside sudo.
  process wrapper{scratch_,
                  {"setpriv", "--bounding-set=-kill", HOLDFAST_COMMAND, "run", "x", "--", "setpriv",
                   "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", "echo $$; exec sleep 100"},
                  {.environment = environment()}};
  ASSERT_TRUE(eventually([&] { return wrapper.out().ends_with('\n'); })) << wrapper.err();
  const auto pid = wrapper.out().substr(0, wrapper.out().find('\n'));
  const std::string report = "cannot signal 'setpriv' (process " + pid + "): it runs as another user.";
  wrapper.signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return wrapper.err().find(report) != std::string::npos; }));
  wrapper.signal(SIGUSR1);
  EXPECT_FALSE(is_dead(std::stoi(pid)));
  ::kill(std::stoi(pid), SIGKILL);
  const auto ended = wrapper.wait();
  EXPECT_EQ(ended.status, 128 + SIGKILL);
  EXPECT_EQ(ended.err.find(report), ended.err.rfind(report)) << ended.err;
}

TEST_F(run_signals, end_a_wait_and_leave_nothing_in_the_queue) {
  const auto holder = start_holder("x");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    auto waiter = start({"run", "x", "--", "sh", "-c", "touch $D/wrong"});
    ASSERT_TRUE(waiters("x", 1));
    waiter->signal(number);
    EXPECT_EQ(waiter->wait().status, 128 + number);
    EXPECT_TRUE(waiters("x", 0));
  }
  EXPECT_FALSE(std::filesystem::exists(file("wrong")));
}

TEST_F(run_signals, that_were_ignored_when_it_began_end_no_wait) {
  auto holder = start_holder("x");
  // As nohup, and as a shell does for what it starts in the background.
  const auto deaf =
      "trap '' HUP INT QUIT; exec '" HOLDFAST_COMMAND "' run x -- sh -c 'echo ran; kill -HUP $$; echo on'";
  process waiter{scratch_, {"sh", "-c", deaf}, {.environment = environment()}};
  ASSERT_TRUE(waiters("x", 1));
  for (const int number : {SIGHUP, SIGINT, SIGQUIT}) waiter.signal(number);
  // Whatever it had taken of these, it has taken before it stops and goes on.
  waiter.signal(SIGTSTP);
  ASSERT_TRUE(eventually([&] { return state_of(waiter.pid()) == 'T'; }));
  waiter.signal(SIGCONT);
  holder->signal(SIGTERM);
  const auto ended = waiter.wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.out, "ran\non\n") << "the command ignores what its wrapper was started to ignore";
}

TEST_F(run_signals, of_the_terminal_stop_a_wait_too) {
  const auto holder = start_holder("x");
  auto waiter = start({"run", "x", "--", "true"});
  ASSERT_TRUE(waiters("x", 1));
  waiter->signal(SIGTSTP);
  EXPECT_TRUE(eventually([&] { return state_of(waiter->pid()) == 'T'; }));
  waiter->signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return state_of(waiter->pid()) != 'T'; }));
  holder->signal(SIGTERM);
  EXPECT_EQ(waiter->wait().status, 0);
}

}  // namespace
}  // namespace holdfast::test
