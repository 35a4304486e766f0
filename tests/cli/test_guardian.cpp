// SPDX-License-Identifier: Apache-2.0
// The process that kills the command of a wrapper that cannot.

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "process.hpp"
#include "run/guardian.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// The process that a guardian is; zero where there is none. It is a child of the thread that has made it.
pid_t guardian_pid() {
  std::istringstream children{contents("/proc/thread-self/children")};
  for (pid_t pid = 0; children >> pid;) {
    if (contents("/proc/" + std::to_string(pid) + "/comm") == "lease-guard\n" && !is_dead(pid)) return pid;
  }
  return 0;
}

/// A process that sleeps, in a group of its own.
pid_t start_sleeper() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    for (;;) ::pause();
  }
  ::setpgid(pid, pid);
  return pid;
}

TEST(guardian, that_was_stopped_does_not_stop_its_wrapper) {
  const auto pipe_signal = ::signal(SIGPIPE, SIG_IGN);
  const pid_t sleeper = start_sleeper();
  cli::guardian guard;
  const pid_t first = guardian_pid();
  ASSERT_NE(first, 0);
  ::kill(first, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(first) == 'T'; }));
  // More orders than any pipe takes.
  for (int count = 0; count < 100'000; ++count) guard.guard(sleeper, boot_clock::now() + 1h);
  EXPECT_TRUE(eventually([&] { return guard.replace_if_killed(); }));
  EXPECT_FALSE(is_dead(sleeper));
  guard.guard(sleeper, boot_clock::now());
  EXPECT_TRUE(eventually([&] { return is_dead(sleeper); }));
  EXPECT_TRUE(guard.dismiss());
  ::kill(sleeper, SIGKILL);
  ::waitpid(sleeper, nullptr, 0);
  ::signal(SIGPIPE, pipe_signal);
}

/// The wrapper was stopped, and gives no more orders.
TEST(guardian, kills_by_itself_when_the_time_is_up_and_no_sooner) {
  const auto pipe_signal = ::signal(SIGPIPE, SIG_IGN);
  const pid_t sleeper = start_sleeper();
  cli::guardian guard;
  guard.guard(sleeper, boot_clock::now() + 1h);
  const auto kill_at = boot_clock::now() + 300ms;
  guard.guard(sleeper, kill_at);  // the last order counts
  EXPECT_TRUE(eventually([&] { return is_dead(sleeper); }));
  EXPECT_GE(boot_clock::now(), kill_at);
  EXPECT_TRUE(guard.dismiss());
  ::waitpid(sleeper, nullptr, 0);
  ::signal(SIGPIPE, pipe_signal);
}

/// A guardian, while this process may have so many descriptors; empty where it cannot be made then.
std::optional<cli::guardian>& make_with(std::optional<cli::guardian>& guard, rlim_t descriptors) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{descriptors, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  try {
    guard.emplace();
  } catch (const std::system_error&) {
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  return guard;
}

/// Its orders must never come from the standard input of the wrapper, which others may write.
TEST(guardian, obeys_with_the_fewest_descriptors_that_it_can_be_made_with) {
  const auto pipe_signal = ::signal(SIGPIPE, SIG_IGN);
  int made = 0;
  for (rlim_t descriptors = 3; made < 3; ++descriptors) {
    std::optional<cli::guardian> guard;
    if (!make_with(guard, descriptors)) continue;
    ++made;
    const pid_t sleeper = start_sleeper();
    guard->guard(sleeper, boot_clock::now() + 1h);
    bool replaced = false;
    const auto obeyed = [&] {
      replaced = replaced || guard->replace_if_killed();
      return replaced || is_dead(sleeper);
    };
    EXPECT_FALSE(obeyed()) << "before its time";
    guard->guard(sleeper, boot_clock::now());
    EXPECT_TRUE(eventually(obeyed));
    EXPECT_FALSE(replaced) << "with " << descriptors << " descriptors it did not hear its orders";
    EXPECT_TRUE(guard->dismiss());
    ::kill(sleeper, SIGKILL);
    ::waitpid(sleeper, nullptr, 0);
  }
  ::signal(SIGPIPE, pipe_signal);
}

}  // namespace
}  // namespace holdfast::test
