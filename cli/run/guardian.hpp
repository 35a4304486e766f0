#pragma once

#include <sys/types.h>

#include "descriptor.hpp"
#include <holdfast/lease.hpp>

namespace holdfast::cli {

/// A tiny process beside the wrapper that kills the command's process group with SIGKILL when its time is
/// up, or when the wrapper is gone. It keeps the promise that the command does not outlive the lease in
/// the two cases where the wrapper cannot: when it was killed itself, and when it is stopped. The wrapper has
/// to ignore SIGPIPE: a guardian that was killed reads its pipe no more.
///
/// It is a fork without an exec: it has nothing to load, allocates nothing, and shares no thread, lock or
/// descriptor with the wrapper but one end of a pipe.
class guardian {
 public:
  /// Starts it; it guards nobody yet.
  guardian();
  /// Without dismiss(): the end of the pipe makes it kill whom it guards.
  ~guardian();
  guardian(const guardian&) = delete;
  guardian& operator=(const guardian&) = delete;

  /// Puts another in the place of one that was killed: by the kernel for want of memory, or by somebody.
  /// \return whether it did; it guards nobody yet. \throws std::system_error where no process can be made.
  bool replace_if_killed();
  /// From now on `group` dies at `kill_at`. The newest word counts.
  void guard(pid_t group, boot_clock::time_point kill_at) noexcept;
  /// Sends it home and waits until it is gone. To be called before the group's leader is reaped, so that
  /// it never signals a group whose number belongs to others by then.
  /// \return whether it had to kill.
  bool dismiss() noexcept;

 private:
  void begin();
  /// \return as waitpid() says it.
  int await_end() noexcept;

  descriptor orders_;
  pid_t pid_ = -1;
};

}  // namespace holdfast::cli
