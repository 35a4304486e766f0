// SPDX-License-Identifier: Apache-2.0
// `run --also-flock`: beside jobs that use flock(1).

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>

#include "descriptor.hpp"
#include "fixture.hpp"
#include "run/file_lock.hpp"
#include "signal_inbox.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class run_also_file : public command_test {
 protected:
  /// flock(1), at once.
  int flock(const std::string& path) {
    return process{scratch_, {"flock", "--nonblock", "--conflict-exit-code", "75", path, "true"}, {}}
        .wait()
        .status;
  }
  /// A job of flock(1) that goes on until a line comes.
  std::unique_ptr<process> start_flock() {
    auto other = std::make_unique<process>(scratch_,
                                           strings{"flock", "--no-fork", file("f"), "sh", "-c",
                                                   "touch $D/locked; read line <$D/alive; touch $D/over"},
                                           process::settings{.environment = environment()});
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file("locked")); }));
    return other;
  }
  result run_file(const strings& options, const strings& command = {"true"}) {
    strings line{"run", "x", "--also-flock", file("f")};
    line.insert(line.end(), options.begin(), options.end());
    line.emplace_back("--");
    line.insert(line.end(), command.begin(), command.end());
    return holdfast(line);
  }
  /// Whether somebody waits in the kernel for the file.
  [[nodiscard]] static bool waits(pid_t pid) {
    std::istringstream locks{contents("/proc/locks")};
    for (std::string line; std::getline(locks, line);) {
      if (line.find("-> FLOCK") != line.npos && line.find(" " + std::to_string(pid) + " ") != line.npos)
        return true;
    }
    return false;
  }

  lifeline alive_{file("alive")};
};

TEST_F(run_also_file, excludes_flock) {
  const auto holder = start_holder("x", {"--also-flock", file("f")});
  EXPECT_EQ(flock(file("f")), 75);
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait().status, 128 + SIGTERM);
  EXPECT_EQ(flock(file("f")), 0);
}

TEST_F(run_also_file, is_excluded_by_flock_and_claims_nothing_else) {
  const auto other = start_flock();
  const auto said = run_file({"--wait", "0"}, {"touch", file("harm")});
  EXPECT_EQ(said.status, 75);
  EXPECT_THAT(said.err,
              HasSubstr("the file '" + file("f") + "' was not free: another process has locked it"));
  const auto late = run_file({"--wait", "100ms", "-E", "9"});
  EXPECT_EQ(late.status, 9);
  EXPECT_THAT(late.err, HasSubstr("was not free within 100ms: "));
  EXPECT_EQ(run_file({"--wait", "0", "-q"}).err, "");
  EXPECT_FALSE(std::filesystem::exists(file("harm")));
  EXPECT_EQ(holdfast({"ls", "--all"}).out, "");
}

TEST_F(run_also_file, waits_for_flock) {
  const auto other = start_flock();
  const auto waiter = start({"run", "x", "--also-flock", file("f"), "--", "test", "-e", file("over")});
  ASSERT_TRUE(eventually([&] { return waits(waiter->pid()); }));
  alive_.end_reader();
  EXPECT_EQ(waiter->wait().status, 0) << "it ran beside the other";
}

TEST_F(run_also_file, a_signal_ends_the_wait) {
  const auto other = start_flock();
  const auto waiter = start({"run", "x", "--also-flock", file("f"), "--", "true"});
  ASSERT_TRUE(eventually([&] { return waits(waiter->pid()); }));
  waiter->signal(SIGTERM);
  EXPECT_EQ(waiter->wait().status, 128 + SIGTERM);
}

/// It is taken from the inbox, so a lock that comes right after it must not let the command begin.
TEST_F(run_also_file, a_signal_ends_the_wait_though_the_file_is_locked_then) {
  cli::descriptor other{::open(file("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  cli::signal_inbox signals{SIGUSR1};
  ::raise(SIGUSR1);
  const auto ended = cli::await_file(file("f"), std::nullopt, signals, [&](int) {
    ::flock(other.get(), LOCK_UN);
    return eventually([&] { return flock(file("f")) == 75; });
  });
  EXPECT_FALSE(ended.locked);
  EXPECT_EQ(ended.interrupted_by, SIGUSR1);
}

/// No store keeps the file.
TEST_F(run_also_file, is_kept_for_at_least_by_staying) {
  const auto holder = start_holder("x", {"--also-flock", file("f"), "--at-least", "1h"}, "exit 7");
  ASSERT_TRUE(eventually([&] { return is_dead(holder_pid()); }));
  EXPECT_EQ(flock(file("f")), 75);
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait().status, 7);
  EXPECT_EQ(flock(file("f")), 0);
  EXPECT_EQ(holdfast({"run", "x", "--wait", "0", "--", "true"}).status, 0);
}

TEST_F(run_also_file, locks_the_file_that_has_the_name_in_the_end) {
  const auto other = start_flock();
  const auto waiter = start({"run", "x", "--also-flock", file("f"), "--", "flock", "--nonblock",
                             "--conflict-exit-code", "7", file("f"), "true"});
  ASSERT_TRUE(eventually([&] { return waits(waiter->pid()); }));
  std::filesystem::rename(file("f"), file("former"));
  alive_.end_reader();
  EXPECT_EQ(waiter->wait().status, 7) << "the new file is free";
}

TEST_F(run_also_file, is_taken_first) {
  const auto other = start_holder("x");
  const auto waiter = start({"run", "x", "--also-flock", file("f"), "--", "true"});
  ASSERT_TRUE(waiters("x", 1));
  EXPECT_EQ(flock(file("f")), 75);
  waiter->signal(SIGTERM);
  EXPECT_EQ(waiter->wait().status, 128 + SIGTERM);
  EXPECT_EQ(flock(file("f")), 0);
}

TEST_F(run_also_file, makes_the_file_as_flock_does) {
  const auto line = "umask 027; exec " HOLDFAST_COMMAND " run x --also-flock " + file("f") + " -- true";
  const auto said = process{scratch_, {"sh", "-c", line}, {.environment = environment()}}.wait();
  EXPECT_EQ(said.status, 0) << said.err;
  struct stat made{};
  ASSERT_EQ(::stat(file("f").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777U, 0640U);
  EXPECT_EQ(made.st_size, 0);
}

TEST_F(run_also_file, takes_a_folder_and_a_file_that_may_only_be_read) {
  write_file(file("f"), "precious\n");
  ASSERT_EQ(::chmod(file("f").c_str(), 0400), 0);
  EXPECT_EQ(run_file({}, {"flock", "--nonblock", "--conflict-exit-code", "7", file("f"), "true"}).status, 7);
  EXPECT_EQ(contents(file("f")), "precious\n");
  const auto said = holdfast({"run", "x", "--also-flock", scratch_.path().string(), "--", "flock",
                              "--nonblock", "--conflict-exit-code", "7", scratch_.path().string(), "true"});
  EXPECT_EQ(said.status, 7) << said.err;
}

TEST_F(run_also_file, refuses_what_is_no_file) {
  std::filesystem::create_symlink(file("elsewhere"), file("f"));
  const auto link = run_file({});
  EXPECT_EQ(link.status, 69);
  EXPECT_THAT(link.err, AllOf(HasSubstr(file("f")), HasSubstr("a symbolic link; give the file itself")));
  EXPECT_FALSE(std::filesystem::exists(file("elsewhere")));
  std::filesystem::remove(file("f"));
  ASSERT_EQ(::mkfifo(file("f").c_str(), 0600), 0);
  const auto pipe = run_file({});
  EXPECT_EQ(pipe.status, 69);
  EXPECT_THAT(pipe.err, HasSubstr("it is neither a file nor a folder"));
  EXPECT_EQ(holdfast({"run", "x", "--also-flock", file("none/f"), "--", "true"}).status, 69);
  EXPECT_EQ(holdfast({"run", "x", "--also-flock", "", "--", "true"}).status, 64);
}

/// What the command leaves in the background has the file open, and does not keep it.
TEST_F(run_also_file, is_unlocked_when_the_command_has_ended) {
  EXPECT_EQ(run_file({}, {"sh", "-c", "cat $D/alive & echo $! >" + file("left")}).status, 0);
  const pid_t left = std::stoi(contents(file("left")));
  EXPECT_EQ(flock(file("f")), 0);
  EXPECT_FALSE(is_dead(left));
  ::kill(left, SIGKILL);
}

/// The guardian kills the command's group. A process that has left the group lives on, and keeps the file.
TEST_F(run_also_file, stays_locked_while_the_command_of_a_killed_wrapper_lives) {
  const auto wrapper = start_holder("x", {"--also-flock", file("f")},
                                    "setsid sh -c 'echo $$ >$D/own; exec cat $D/alive' &\nwait");
  ASSERT_TRUE(eventually([&] { return contents(file("own")).ends_with('\n'); }));
  const pid_t own = std::stoi(contents(file("own")));
  const pid_t command = holder_pid();
  wrapper->signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_dead(command); }));
  EXPECT_EQ(flock(file("f")), 75);
  ::kill(own, SIGKILL);
  EXPECT_TRUE(eventually([&] { return flock(file("f")) == 0; }));
}

}  // namespace
}  // namespace holdfast::test
