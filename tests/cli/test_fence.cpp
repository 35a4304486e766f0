// SPDX-License-Identifier: Apache-2.0
// `holdfast fence`, and a holder that stands still for longer than its lease lasts.

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <memory>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fixture.hpp"
#include <holdfast/fence.hpp>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class fence_command : public command_test {
 protected:
  result fenced(const std::string& token, const strings& command, const strings& options = {}) {
    strings line{"fence", file("f"), "--token", token};
    line.insert(line.end(), options.begin(), options.end());
    line.emplace_back("--");
    line.insert(line.end(), command.begin(), command.end());
    return holdfast(line);
  }
  /// A command of the fence that goes on until the file `go` is there.
  std::unique_ptr<process> start_user(const std::string& token) {
    auto user = start({"fence", file("f"), "--token", token, "--", "sh", "-c",
                       "echo $$ >$D/pid.new; mv $D/pid.new $D/pid; until [ -e $D/go ]; do sleep 0.01; done"});
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file("pid")) || !user->running(); }));
    EXPECT_TRUE(std::filesystem::exists(file("pid"))) << user->err();
    return user;
  }
};

TEST_F(fence_command, refuses_an_older_token_with_65) {
  EXPECT_EQ(fenced("5", {"true"}).status, 0);
  EXPECT_EQ(fenced("5", {"true"}).status, 0) << "the same holder again";
  EXPECT_EQ(fenced("7", {"true"}).status, 0);
  const auto late = fenced("6", {"touch", file("harm")});
  EXPECT_EQ(late.status, 65);
  EXPECT_THAT(late.err, HasSubstr("'touch' was not run: its token 6 is smaller than 7, which " + file("f") +
                                  " remembers: a later holder has run, or one with a larger token_base"));
  EXPECT_FALSE(std::filesystem::exists(file("harm")));
}

TEST_F(fence_command, passes_on_status_and_environment) {
  EXPECT_EQ(fenced("5", {"sh", "-c", "exit 9"}).status, 9);
  EXPECT_EQ(fenced("5", {"sh", "-c", "kill -TERM $$"}).status, 128 + SIGTERM);
  EXPECT_EQ(fenced("5", {file("nothing")}).status, 127);
  EXPECT_EQ(fenced("5", {scratch_.path().string()}).status, 126);
  const auto said = holdfast({"fence", file("f"), "--", "sh", "-c", "echo $HOLDFAST_TOKEN $HOLDFAST_NAME"},
                             {.environment = {"HOLDFAST_TOKEN=8", "HOLDFAST_NAME=stock"}});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(said.out, "8 stock\n");
}

TEST_F(fence_command, has_the_token_of_the_lock_that_is_held) {
  const auto said = holdfast(
      {"run", "x", "--", HOLDFAST_COMMAND, "fence", file("f"), "--", "sh", "-c", "echo $HOLDFAST_TOKEN"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(fenced(std::to_string(std::stoull(said.out) - 1), {"true"}).status, 65);
  EXPECT_EQ(fenced(std::to_string(std::stoull(said.out)), {"true"}).status, 0);
}

TEST_F(fence_command, says_what_to_do_without_a_token) {
  const auto none = holdfast({"fence", file("f"), "--", "true"});
  EXPECT_EQ(none.status, 64);
  EXPECT_THAT(none.err, AllOf(HasSubstr("holdfast run"), HasSubstr("--token")));
  for (const auto* wrong : {"x", "0", "-1", ""}) {
    const auto refused = holdfast({"fence", file("f"), "--", "true"},
                                  {.environment = {std::string{"HOLDFAST_TOKEN="} + wrong}});
    EXPECT_EQ(refused.status, 64) << wrong;
  }
  EXPECT_FALSE(std::filesystem::exists(file("f")));
}

TEST_F(fence_command, keeps_others_out_while_its_command_runs) {
  auto first = start_user("5");
  const auto second = fenced("7", {"touch", file("harm")}, {"--wait", "0"});
  EXPECT_EQ(second.status, 75);
  EXPECT_THAT(second.err, AllOf(HasSubstr(file("f")), HasSubstr("in use")));
  EXPECT_FALSE(std::filesystem::exists(file("harm")));
  auto third = start({"fence", file("f"), "--token", "7", "--", "test", "-e", file("go")});
  write_file(file("go"), "");
  EXPECT_EQ(first->wait().status, 0);
  EXPECT_EQ(third->wait().status, 0) << "it ran beside the first";
}

TEST_F(fence_command, forwards_signals_and_a_signal_ends_the_wait) {
  auto first = start_user("5");
  auto second = start({"fence", file("f"), "--token", "7", "--", "true"});
  ASSERT_TRUE(eventually([&] {  // it takes signals as messages
    return contents("/proc/" + std::to_string(second->pid()) + "/comm") == "holdfast\n" &&
           state_of(second->pid()) == 'S';
  }));
  second->signal(SIGTERM);
  EXPECT_EQ(second->wait().status, 128 + SIGTERM);
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().status, 128 + SIGTERM);
  EXPECT_EQ(fenced("5", {"true"}, {"--wait", "0"}).status, 0);
}

TEST_F(fence_command, that_is_killed_takes_its_command_along) {
  auto user = start_user("5");
  const pid_t command = std::stoi(contents(file("pid")));
  user->signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_dead(command); }));
  EXPECT_EQ(fenced("6", {"true"}).status, 0);
}

/// The command has left its group, so nothing ends it. One that hangs in the kernel goes on likewise.
TEST_F(fence_command, that_is_killed_leaves_the_file_to_a_command_that_goes_on) {
  const lifeline alive{file("alive")};
  auto wrapper = start({"fence", file("f"), "--token", "5", "--", "setsid", "--wait", "sh", "-c",
                        "echo $$ >$D/pid.new; mv $D/pid.new $D/pid; read line <$D/alive; touch $D/written"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("pid")); })) << wrapper->err();
  const pid_t straggler = std::stoi(contents(file("pid")));
  wrapper->signal(SIGKILL);
  EXPECT_EQ(wrapper->wait().status, 128 + SIGKILL);
  EXPECT_FALSE(is_dead(straggler));
  EXPECT_EQ(fenced("6", {"touch", file("harm")}, {"--wait", "0"}).status, 75);
  EXPECT_FALSE(std::filesystem::exists(file("harm")));
  auto newer = start({"fence", file("f"), "--token", "6", "--", "test", "-e", file("written")});
  alive.end_reader();
  EXPECT_EQ(newer->wait().status, 0) << "it ran beside the straggler";
}

/// What a command leaves in the background has the descriptor of the file, and keeps nobody out.
TEST_F(fence_command, releases_the_file_when_its_command_has_ended) {
  const lifeline alive{file("alive")};
  EXPECT_EQ(fenced("5", {"sh", "-c", "cat $D/alive & echo $! >$D/left"}).status, 0);
  const pid_t left = std::stoi(contents(file("left")));
  EXPECT_EQ(fenced("6", {"true"}, {"--wait", "0"}).status, 0);
  EXPECT_FALSE(is_dead(left));
  ::kill(left, SIGKILL);
}

TEST_F(fence_command, leaves_a_file_that_is_not_its_own) {
  write_file(file("f"), "precious\n");
  const auto refused = fenced("5", {"true"});
  EXPECT_EQ(refused.status, 69);
  EXPECT_THAT(refused.err, HasSubstr(file("f")));
  EXPECT_EQ(contents(file("f")), "precious\n");
}

TEST_F(fence_command, shares_its_file_with_the_library) {
  EXPECT_EQ(fenced("5", {"true"}).status, 0);
  fence same{file("f")};
  EXPECT_EQ(same.largest("file"), fencing_token{5});
  EXPECT_EQ(fenced("6", {"true"}, {"--wait", "0"}).status, 75);
}

/// The calls of `holdfast fence` that write or sync, up to the beginning of the command, which copies the
/// journal.
class fence_on_disk : public command_test {
 protected:
  /// \param failing a line of the journal: that call fails.
  result fenced(const std::string& token, const std::string& failing = {}) {
    std::filesystem::remove(file("journal"));
    std::filesystem::remove(file("before"));
    return holdfast({"fence", file("f"), "--token", token, "--", "env", "-u", "LD_PRELOAD", "cp",
                     file("journal"), file("before")},
                    {.environment = {"LD_PRELOAD=" HOLDFAST_TEST_DISK_JOURNAL,
                                     "HOLDFAST_TEST_DISK_JOURNAL=" + file("journal"),
                                     "HOLDFAST_TEST_DISK_FAILS=" + failing}});
  }
  [[nodiscard]] std::string before() const { return contents(file("before")); }

  static constexpr const char* new_file = "write f.new\nfsync f.new\nrename f.new\nfsync .\n";
  static constexpr const char* opened = "fsync f\nfsync .\n";
  static constexpr const char* new_token = "write f\nfdatasync f\n";
};

TEST_F(fence_on_disk, has_a_new_token_before_the_command_begins) {
  EXPECT_EQ(fenced("5").status, 0);
  EXPECT_EQ(before(), std::string{new_file} + opened + new_token);
  EXPECT_EQ(fenced("6").status, 0);
  EXPECT_EQ(before(), std::string{opened} + new_token);
  EXPECT_EQ(fenced("6").status, 0);
  EXPECT_EQ(before(), opened) << "whoever wrote the token may have been killed before it was on the disk";
}

TEST_F(fence_on_disk, runs_nothing_whose_token_may_be_lost) {
  for (const char* call : {"write f.new", "fsync f.new", "rename f.new"}) {
    EXPECT_EQ(fenced("5", call).status, 69) << call;
    EXPECT_EQ(before(), "") << call;
  }
  EXPECT_EQ(fenced("5").status, 0);
  for (const char* call : {"write f", "fdatasync f", "fsync f", "fsync ."}) {
    EXPECT_EQ(fenced("6", call).status, 69) << call;
    EXPECT_EQ(before(), "") << call;
  }
  EXPECT_EQ(fenced("6").status, 0);
}

/// A machine that stands still: the wrapper, the guardian that would end the command, and the command.
class paused_holder : public command_test {
 protected:
  static pid_t guardian_of(pid_t wrapper) {
    const auto id = std::to_string(wrapper);
    std::istringstream children{contents("/proc/" + id + "/task/" + id + "/children")};
    for (pid_t pid = 0; children >> pid;) {
      if (contents("/proc/" + std::to_string(pid) + "/comm") == "lease-guard\n") return pid;
    }
    return 0;
  }
  /// A process of one thread: it stands still when its state says so.
  static void stop(pid_t pid) {
    ::kill(pid, SIGSTOP);
    ASSERT_TRUE(eventually([&] { return state_of(pid) == 'T'; }));
  }
};

TEST_F(paused_holder, does_harm_unless_a_fence_refuses_it) {
  const std::string write =
      "echo $1 >$D/plain\n" HOLDFAST_COMMAND " fence $D/f -- sh -c 'echo $0 >$D/fenced' $1";
  ASSERT_EQ(::mkfifo(file("wake").c_str(), 0600), 0);
  auto late = start_holder("x", {"--ttl", "6s"},
                           "set -- late\nread line <$D/wake\n" + write + "\necho $? >$D/late_status");
  const pid_t job = holder_pid();
  const pid_t guardian = guardian_of(late->pid());
  ASSERT_NE(guardian, 0);
  // The wrapper is the last: until then it renews the lease.
  stop(guardian);
  stop(job);
  late->signal(SIGSTOP);
  siginfo_t stopped{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(late->pid()), &stopped, WSTOPPED), 0);

  const auto newer = holdfast({"run", "x", "--", "sh", "-c", "set -- newer\n" + write});
  EXPECT_EQ(newer.status, 0) << newer.err;
  EXPECT_EQ(contents(file("plain")), "newer\n");
  EXPECT_EQ(contents(file("fenced")), "newer\n");

  // The command is the first that goes on, as it may be on a machine that does.
  ::kill(job, SIGCONT);
  write_file(file("wake"), "go\n");
  ASSERT_TRUE(eventually([&] { return is_dead(job); }));
  EXPECT_EQ(contents(file("plain")), "late\n") << "without a fence the late write does harm";
  EXPECT_EQ(contents(file("fenced")), "newer\n");
  EXPECT_EQ(contents(file("late_status")), "65\n");
  ::kill(guardian, SIGCONT);
  late->signal(SIGCONT);
  EXPECT_EQ(late->wait().status, 76);
}

}  // namespace
}  // namespace holdfast::test
