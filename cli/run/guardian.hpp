// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "descriptor.hpp"
#include <holdfast/lease.hpp>

namespace holdfast::cli {

/// A small process beside the wrapper that kills the command's process group with SIGKILL when its time is
/// up, or when the wrapper has ended. So the command does not outlive the lease, even if the wrapper was
/// killed or stopped. The wrapper has to ignore SIGPIPE, because a killed guardian does not read its pipe.
///
/// It is a fork without an exec: it loads and allocates nothing, and shares only one end of a pipe with the
/// wrapper.
class guardian {
 public:
  /// Starts it, without a group to guard. Descriptors 0 and 1 have to be open.
  /// \throws std::system_error, failure where it cannot be made.
  guardian();
  /// Without dismiss(), the end of the pipe makes it kill the group that it guards.
  ~guardian();
  guardian(const guardian&) = delete;
  guardian& operator=(const guardian&) = delete;

  /// Replaces a guardian that was killed, by the kernel for lack of memory or by a user.
  /// \return whether it was replaced; the new one has the last order. \throws std::system_error if no process
  /// can be made; the next call tries again.
  bool replace_if_killed();
  /// Makes it kill `group` at `kill_at`. The last call counts. Kills a guardian that was stopped, and has not
  /// taken some thousand orders: replace_if_killed() then makes one that does.
  void guard(pid_t group, boot_clock::time_point kill_at) noexcept;
  /// Ends it and waits for its end. To be called before the group's leader is reaped, so that it never
  /// signals another group with the same number.
  /// \return whether it had to kill.
  bool dismiss() noexcept;
  /// The id of its process; negative if there is none.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  /// \return readable when it is ready, with a byte, or when it has ended before, without.
  [[nodiscard]] descriptor begin();
  /// \return as waitpid() says it.
  int await_end() noexcept;

  descriptor orders_;
  pid_t pid_ = -1;
  pid_t group_ = 0;  // of the last order
  boot_clock::time_point kill_at_;
};

}  // namespace holdfast::cli
