// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "descriptor.hpp"
#include "run/program.hpp"

namespace holdfast::cli {

/// The signal state for a program: the one with which the wrapper was started.
struct inherited_signals {
  sigset_t mask;
  void (*pipe)(int);  ///< of SIGPIPE, which the wrapper ignores
};

/// The command: a child process that leads a process group of its own. From construction until start() it
/// exists and waits, so that the guardian can be started and the terminal handed over.
///
/// It dies when the thread that made it ends; make it on the main thread.
class child_process {
 public:
  child_process(const program& command, std::vector<std::string> environment,
                const inherited_signals& signals);
  /// Kills and reaps what was never reaped.
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// Returns when the command runs. \throws failure 126 or 127 where it could not be executed. The group's
  /// number is its own until the destructor.
  void start();
  [[nodiscard]] pid_t group() const noexcept { return pid_; }
  void signal_group(int number);
  /// Called by the first signal that is refused: no process of the group is of this user any more.
  void on_refusal(std::function<void()> call) { on_refusal_ = std::move(call); }

  /// The signal that stopped it, if it was stopped since the last time.
  [[nodiscard]] std::optional<int> take_stop() const noexcept;
  /// Whether it has ended. It is a zombie then, so that no other process gets its id.
  [[nodiscard]] bool ended() const noexcept;
  /// Whether a signal has ended it.
  [[nodiscard]] bool was_killed() const noexcept;
  /// Its exit status, or 128 and the signal's number. To be called once, when it has ended.
  int reap() noexcept;

 private:
  std::string path_;
  descriptor gate_;
  descriptor failure_;
  std::function<void()> on_refusal_;
  pid_t pid_ = -1;
};

}  // namespace holdfast::cli
