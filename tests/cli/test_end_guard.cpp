// SPDX-License-Identifier: Apache-2.0
// The end of a process that may not come to it.

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "end_guard.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using cli::end_guard;
using cli::signal_inbox;
using testing::ExitedWithCode;

struct scenario {
  std::chrono::milliseconds limit = 1h;
  int before = 0;  ///< a signal that comes before the end begins; zero: none
  int during = 0;  ///< likewise after that
};

/// Ends, as the process does that a test has for this, in a guard that has to do it.
[[noreturn]] void end_in(const scenario& one) {
  signal_inbox signals{SIGTERM, SIGINT};
  if (one.before != 0) ::kill(::getpid(), one.before);
  const end_guard guard{signals, one.limit};
  if (one.during != 0) ::kill(::getpid(), one.during);
  while (true) ::pause();
}

[[noreturn]] void end_without_delay() {
  signal_inbox signals{SIGTERM};
  {
    const end_guard guard{signals, 1h};
  }
  ::_exit(7);
}

TEST(end_guard, ends_the_process_at_its_limit) { EXPECT_EXIT(end_in({.limit = 1ms}), ExitedWithCode(0), ""); }

TEST(end_guard, ends_the_process_with_a_further_signal) {
  EXPECT_EXIT(end_in({.during = SIGTERM}), ExitedWithCode(128 + SIGTERM), "");
  EXPECT_EXIT(end_in({.before = SIGINT}), ExitedWithCode(128 + SIGINT), "");
}

volatile std::sig_atomic_t interruptions = 0;

/// The guard's thread alone takes a signal that has a handler, again and again, then a further one.
[[noreturn]] void end_after_interruptions() {
  signal_inbox signals{SIGTERM};
  struct sigaction noted{};
  noted.sa_handler = [](int) { interruptions = interruptions + 1; };
  ::sigaction(SIGUSR1, &noted, nullptr);
  const end_guard guard{signals, 1h};
  sigset_t interrupting;
  ::sigemptyset(&interrupting);
  ::sigaddset(&interrupting, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &interrupting, nullptr);
  for (int each = 1; each <= 100; ++each) {
    ::kill(::getpid(), SIGUSR1);
    while (interruptions < each) std::this_thread::yield();
  }
  ::kill(::getpid(), SIGTERM);
  while (true) ::pause();
}

TEST(end_guard, takes_no_interruption_for_its_limit) {
  EXPECT_EXIT(end_after_interruptions(), ExitedWithCode(128 + SIGTERM), "");
}

TEST(end_guard, waits_for_nothing_when_all_has_ended) {
  EXPECT_EXIT(end_without_delay(), ExitedWithCode(7), "");
}

}  // namespace
}  // namespace holdfast::test
