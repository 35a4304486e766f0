// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <utility>
#include <vector>

#include "faults/faults.hpp"

namespace holdfast::faults {

/// A holder that is paused between its lock and its write: a process that stands still before it runs the
/// command.
class paused_writer {
 public:
  explicit paused_writer(std::vector<std::string> command) : process_{wrapped(std::move(command)), {}} {
    siginfo_t stopped{};
    EXPECT_EQ(::waitid(P_PID, static_cast<::id_t>(process_.pid()), &stopped, WSTOPPED | WNOWAIT), 0);
  }
  /// Lets it write. \return the status of the command.
  int go_on() {
    process_.send(SIGCONT);
    return process_.finish();
  }

 private:
  static std::vector<std::string> wrapped(std::vector<std::string> command) {
    command.insert(command.begin(), {"/bin/sh", "-c", "kill -STOP $$; exec \"$@\" >/dev/null 2>&1", "sh"});
    return command;
  }
  actor process_;
};

/// A holder of "stock" is paused, loses the lock, and writes after its successor.
/// \param write returns the command that writes under this token.
/// \param succeed writes as the next holder, under a later token.
/// \return the status of the late command.
inline int status_of_late_write(const std::string& store,
                                const std::function<std::vector<std::string>(fencing_token)>& write,
                                const std::function<void(fencing_token)>& succeed) {
  client locks{store};
  auto former = mutex{locks, "stock"}.acquire();
  paused_writer writer{write(former.token())};
  EXPECT_EQ(locks.force_release("stock"), 1U);  // its time is over
  auto held = mutex{locks, "stock"}.acquire();
  EXPECT_GT(held.token(), former.token());
  succeed(held.token());
  return writer.go_on();
}

}  // namespace holdfast::faults
