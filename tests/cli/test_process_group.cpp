// SPDX-License-Identifier: Apache-2.0
// Who else is in a process group: other processes come and go while /proc is read.

#include <atomic>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "run/process_group.hpp"

namespace holdfast::test {
namespace {

TEST(process_group, is_read_while_processes_end) {
  std::atomic<bool> is_over{false};
  std::thread churn{[&] {
    while (!is_over) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(0);
      ::waitpid(child, nullptr, 0);
    }
  }};
  constexpr pid_t nobody = 0x3fffffff;  // no process has so large a number
  for (int turn = 0; turn < 1000; ++turn) EXPECT_NO_THROW(EXPECT_FALSE(cli::other_member_of(nobody)));
  is_over = true;
  churn.join();
}

}  // namespace
}  // namespace holdfast::test
