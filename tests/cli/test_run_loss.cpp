// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <ctime>
#include <gmock/gmock.h>
#include <sstream>
#include <sys/resource.h>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using boot_time = std::chrono::nanoseconds;
using testing::HasSubstr;

boot_time boot_now() {
  std::timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// The child of this wrapper that kills the command in its place; zero where there is none.
pid_t guardian_of(pid_t wrapper) {
  const auto folder = "/proc/" + std::to_string(wrapper) + "/task/" + std::to_string(wrapper) + "/children";
  std::istringstream children{contents(folder)};
  for (pid_t pid = 0; children >> pid;) {
    if (contents("/proc/" + std::to_string(pid) + "/comm") == "lease-guard\n" && !is_dead(pid)) return pid;
  }
  return 0;
}

class run_loss : public command_test {
 protected:
  /// A wrapper around a script with a process of its own in the background, both deaf to SIGTERM.
  std::unique_ptr<process> start_deaf(const std::string& ttl) {
    auto wrapper = start_holder("x", {"--ttl", ttl},
                                "trap '' TERM\nsh -c 'while :; do sleep 0.01; done' &\n"
                                "echo $! >$D/grandchild\nwhile :; do sleep 0.01; done");
    EXPECT_TRUE(eventually([&] { return contents(file("grandchild")).ends_with('\n'); }));
    grandchild_ = std::stoi(contents(file("grandchild")));
    return wrapper;
  }

  bool all_dead() {
    return eventually([&] { return is_dead(holder_pid()) && is_dead(grandchild_); });
  }

  pid_t grandchild_ = 0;
};

TEST_F(run_loss, asks_the_command_to_end_and_exits_76) {
  auto wrapper = start_holder("x", {"--ttl", "30s"},
                              "trap 'echo asked >$D/log; exit 5' TERM\n"
                              "echo ready >$D/ready\nwhile :; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("ready")); }));
  EXPECT_EQ(holdfast({"release", "--force", "x"}).status, 0);
  const auto ended = wrapper->wait();
  EXPECT_EQ(ended.status, 76);
  EXPECT_EQ(contents(file("log")), "asked\n");
  EXPECT_THAT(ended.err, HasSubstr("was lost while 'sh' ran; 'sh' was ended."));
}

TEST_F(run_loss, tells_of_it_in_json) {
  auto wrapper = start_holder("x", {"--json"});
  EXPECT_EQ(holdfast({"release", "--force", "x"}).status, 0);
  const auto lines = parse_lines(wrapper->wait().err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["lost"], true);
  EXPECT_EQ(lines[0]["reason"], "ended_at_store");
  EXPECT_EQ(lines[0]["status"], 76);
  EXPECT_EQ(lines[0]["command_status"], 128 + SIGTERM);
}

// The shell ends with SIGTERM at once, and what it has started tidies up.
TEST_F(run_loss, leaves_the_rest_of_the_group_the_time_that_the_command_has) {
  auto wrapper =
      start_holder("x", {"--ttl", "1h"},
                   "sh -c 'trap \"until [ -e $D/go ]; do sleep 0.01; done; echo tidy >$D/log; exit\" TERM\n"
                   "touch $D/ready\nwhile :; do sleep 0.01; done' &\nexec sleep 1000");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("ready")); }));
  EXPECT_EQ(holdfast({"release", "--force", "x"}).status, 0);
  ASSERT_TRUE(eventually([&] { return is_dead(holder_pid()); }));
  write_file(file("go"), "");
  EXPECT_EQ(wrapper->wait().status, 76);
  EXPECT_EQ(contents(file("log")), "tidy\n");
}

TEST_F(run_loss, a_nested_run_withdraws_its_claim) {
  const auto other = start_holder("inner");
  auto wrapper = start_holder("outer", {}, std::string{HOLDFAST_COMMAND} + " run inner -- true & wait");
  ASSERT_TRUE(waiters("inner", 1));
  EXPECT_EQ(holdfast({"release", "--force", "outer"}).status, 0);
  EXPECT_EQ(wrapper->wait().status, 76);
  EXPECT_TRUE(show("inner")["waiters"].empty()) << "it was killed before it could withdraw";
}

TEST_F(run_loss, reaches_a_command_that_is_stopped) {
  auto wrapper = start_holder("x", {"--ttl", "30s"}, "exec sleep 1000");
  ::kill(holder_pid(), SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(holder_pid()) == 'T'; }));
  EXPECT_EQ(holdfast({"release", "--force", "x"}).status, 0);
  EXPECT_EQ(wrapper->wait().status, 76);
}

TEST_F(run_loss, a_killed_wrapper_takes_all_of_the_command_along) {
  auto wrapper = start_deaf("1h");
  wrapper->signal(SIGKILL);
  EXPECT_TRUE(all_dead());
}

TEST_F(run_loss, a_stopped_wrapper_cannot_keep_the_command_past_the_deadline) {
  const auto is_in_time = [&] {
    auto wrapper = start_deaf("6s");
    wrapper->signal(SIGSTOP);
    EXPECT_TRUE(eventually([&] { return state_of(wrapper->pid()) == 'T'; }));
    const auto latest = boot_now() + 6s;
    EXPECT_TRUE(all_dead());
    const bool in_time = boot_now() < latest;
    EXPECT_EQ(state_of(wrapper->pid()), 'T') << "it was not the wrapper that did it";
    wrapper->signal(SIGCONT);
    EXPECT_EQ(wrapper->wait().status, 76);
    return in_time;
  };
  // The guardian has a quarter of a second, in which a machine that others use may not let it run:
  // scripts/hunt runs this. The tests of the guardian and of lease_plan show the same without a clock of
  // ours.
  EXPECT_TRUE(is_in_time() || is_in_time() || is_in_time());
}

TEST_F(run_loss, the_next_in_line_goes_on_after_a_crash) {
  auto wrapper = start_holder("x", {"--ttl", "6s"});
  auto next = start({"run", "x", "--", "true"});
  ASSERT_TRUE(waiters("x", 1));
  wrapper->signal(SIGKILL);
  EXPECT_EQ(next->wait().status, 0);
}

TEST_F(run_loss, an_ended_command_leaves_no_guardian_behind) {
  auto wrapper = start_holder("x", {},
                              "for each in $(cat /proc/$PPID/task/*/children); do\n"
                              "  echo $each $(cat /proc/$each/comm) >>$D/children\ndone\nexit 0");
  EXPECT_EQ(wrapper->wait().status, 0);
  std::istringstream children{contents(file("children"))};
  int guardians = 0;
  for (std::string pid, name; children >> pid >> name;) {
    if (name == "lease-guard") {
      ++guardians;
      EXPECT_TRUE(is_dead(std::stoi(pid)));
    }
  }
  EXPECT_EQ(guardians, 1);
}

TEST_F(run_loss, a_guardian_that_was_killed_changes_nothing_of_the_end) {
  auto wrapper = start_holder("x", {"--ttl", "1h"}, "while [ ! -e $D/go ]; do sleep 0.01; done; exit 7");
  const pid_t guardian = guardian_of(wrapper->pid());
  ASSERT_NE(guardian, 0);
  ::kill(guardian, SIGKILL);
  ASSERT_TRUE(eventually([&] { return is_dead(guardian); }));
  write_file(file("go"), "");
  const auto ended = wrapper->wait();
  EXPECT_EQ(ended.status, 7);
  EXPECT_EQ(ended.err, "");
  EXPECT_FALSE(held("x")) << "the lock was not released";
}

TEST_F(run_loss, a_guardian_that_was_stopped_keeps_no_lock) {
  auto wrapper = start_holder("x", {"--ttl", "1h"}, "while [ ! -e $D/go ]; do sleep 0.01; done; exit 7");
  const pid_t guardian = guardian_of(wrapper->pid());
  ASSERT_NE(guardian, 0);
  ::kill(guardian, SIGSTOP);
  write_file(file("go"), "");
  EXPECT_EQ(wrapper->wait().status, 7);
  EXPECT_FALSE(held("x")) << "the lock was not released";
}

TEST_F(run_loss, a_guardian_that_was_killed_is_replaced) {
  auto wrapper = start_deaf("15s");
  const pid_t first = guardian_of(wrapper->pid());
  ASSERT_NE(first, 0);
  ::kill(first, SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const pid_t next = guardian_of(wrapper->pid());
    return next != 0 && next != first;
  }));
  // The next one has its orders: it ends the command of a wrapper that is killed.
  wrapper->signal(SIGKILL);
  EXPECT_TRUE(all_dead());
}

/// No process can be made for a while, which a machine without memory has in common with this.
TEST_F(run_loss, a_guardian_that_could_not_be_replaced_at_once_is_replaced_later) {
  auto wrapper = start_deaf("15s");
  const pid_t first = guardian_of(wrapper->pid());
  ASSERT_NE(first, 0);
  rlimit before{};
  ASSERT_EQ(::prlimit(wrapper->pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit none{.rlim_cur = 4, .rlim_max = before.rlim_max};  // poll() needs as many as it looks at
  ASSERT_EQ(::prlimit(wrapper->pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  ::kill(first, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !state_of(first); }));  // reaped; the attempt to replace it is next
  // It waits again: the attempt has been made. One that came later would succeed, and show nothing.
  ASSERT_TRUE(eventually([&] { return state_of(wrapper->pid()) == 'S'; }));
  ASSERT_EQ(::prlimit(wrapper->pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  ASSERT_TRUE(eventually([&] { return guardian_of(wrapper->pid()) != 0; }));
  wrapper->signal(SIGKILL);
  EXPECT_TRUE(all_dead());
}

TEST_F(run_loss, says_why) {
  auto forced = start_holder("x");
  EXPECT_EQ(holdfast({"release", "--force", "x"}).status, 0);
  EXPECT_THAT(forced->wait().err, HasSubstr("The store no longer has the lease"));

  // A file that others keep locked for longer than the lease lasts: no renewal comes through.
  auto silent = start_holder("y", {"--ttl", "6s", "--json"});
  process locker{
      scratch_,
      {"sqlite3", "-bail", file("locks.db"), ".timeout 60000", "begin exclusive;",
       ".shell touch " + file("locked"), ".shell while [ ! -e " + file("over") + " ]; do sleep 0.05; done"},
      {}};
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("locked")); }));
  ASSERT_TRUE(eventually([&] { return is_dead(holder_pid()); }));
  write_file(file("over"), "");
  const auto lines = parse_lines(silent->wait().err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["reason"], "not_renewed");
  EXPECT_EQ(lines[0]["status"], 76);
}

TEST_F(run_loss, has_the_exit_status_that_was_asked_for) {
  auto wrapper = start_holder("x", {"--lost-exit-code", "3"});
  EXPECT_EQ(holdfast({"release", "--force", "x"}).status, 0);
  EXPECT_EQ(wrapper->wait().status, 3);
}

/// The kernel kills the command for lack of memory, and leaves its workers alone.
TEST_F(run_loss, a_command_that_is_killed_leaves_no_worker_beside_the_next_holder) {
  auto wrapper = start_holder("x", {"--ttl", "1h"},
                              "sh -c 'trap \"echo held >$D/log; " HOLDFAST_COMMAND
                              " show --quiet x || echo free >$D/log; exit\" "
                              "TERM\necho $$ >$D/worker\nwhile :; do sleep 0.01; done' &\nexec sleep 1000");
  ASSERT_TRUE(eventually([&] { return contents(file("worker")).ends_with('\n'); }));
  ::kill(holder_pid(), SIGKILL);
  const auto ended = wrapper->wait();
  EXPECT_EQ(ended.status, 128 + SIGKILL);
  EXPECT_TRUE(is_dead(std::stoi(contents(file("worker")))));
  EXPECT_EQ(contents(file("log")), "held\n") << "the lock was released before its worker had ended";
  EXPECT_THAT(ended.err,
              HasSubstr("holdfast: signal 9 ended 'sh', and processes that it had started still ran; "
                        "they were ended, too, before the release\n"));
}

TEST_F(run_loss, what_the_command_leaves_in_the_background_lives_on) {
  const lifeline alive{file("alive")};
  auto wrapper = start_holder("x", {}, "cat $D/alive & echo $! >$D/left; exit 0");
  EXPECT_EQ(wrapper->wait().status, 0);
  const pid_t left = std::stoi(contents(file("left")));
  EXPECT_FALSE(is_dead(left));
  ::kill(left, SIGKILL);
}

}  // namespace
}  // namespace holdfast::test
