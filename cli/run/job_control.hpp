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

  /// Before the command starts. It is handed the terminal only when both its input and its output are
  /// there: in `holdfast run … | less` the pager needs it more. If the command does turn to the
  /// terminal later, it gets it then.
  void begin() noexcept;
  /// The command was stopped by a signal: hands it the terminal if that was all it wanted, else stops
  /// with it, the whole job, as the keyboard would have. Leases are not renewed by who is stopped.
  void stopped(int by) noexcept;
  /// We were told to go on: so does the command, in the foreground if that is where we are.
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
