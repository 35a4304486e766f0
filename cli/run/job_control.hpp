// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "descriptor.hpp"

namespace holdfast::cli {

/// Makes a command in a process group of its own behave on a terminal as if the shell had started it:
/// it reads the keyboard, Ctrl-C and Ctrl-Z reach it, and the job stops and goes on as a whole. Without
/// a controlling terminal, nothing here does anything.
class job_control {
 public:
  explicit job_control(pid_t group);
  /// Takes the terminal back.
  ~job_control();
  job_control(const job_control&) = delete;
  job_control& operator=(const job_control&) = delete;

  /// To be called before the command starts. Hands it the terminal only if both its input and its output are
  /// the terminal: in `holdfast run … | less` the pager needs it. If the command uses the terminal later, it
  /// gets it then.
  void begin() noexcept;
  /// Called when a signal stopped the command: hands it the terminal if it was stopped for using it, else
  /// stops the whole job, as the keyboard does. A stopped process renews no leases.
  void stopped(int by) noexcept;
  /// Called after SIGCONT: continues the command, in the foreground if the job is there.
  void resumed() noexcept;

 private:
  [[nodiscard]] bool in_foreground() const noexcept;
  void hand_over() noexcept;
  void take_back() noexcept;
  [[nodiscard]] static bool stop_whole_job() noexcept;

  descriptor terminal_;
  pid_t group_;
  bool wants_terminal_ = false;
};

}  // namespace holdfast::cli
