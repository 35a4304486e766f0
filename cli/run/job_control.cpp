// SPDX-License-Identifier: Apache-2.0
#include "run/job_control.hpp"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace holdfast::cli {

// tcsetpgrp from the background stops the caller with SIGTTOU unless that is blocked; `run` blocks it
// for as long as it lives.

job_control::job_control(pid_t group)
    : terminal_{::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)}, group_{group} {}

job_control::~job_control() { take_back(); }

void job_control::begin() noexcept {
  wants_terminal_ = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (wants_terminal_ && in_foreground()) hand_over();
}

void job_control::stopped(int by) noexcept {
  if (!terminal_) return;  // no shell would continue this process; renew the lease meanwhile
  const bool turned_to_terminal = by == SIGTTIN || by == SIGTTOU;
  wants_terminal_ = wants_terminal_ || turned_to_terminal;
  if (turned_to_terminal && in_foreground()) return resumed();
  take_back();
  if (!stop_whole_job()) resumed();
}

void job_control::resumed() noexcept {
  if (wants_terminal_ && in_foreground()) hand_over();
  ::kill(-group_, SIGCONT);
}

bool job_control::in_foreground() const noexcept {
  return terminal_ && ::tcgetpgrp(terminal_.get()) == ::getpgrp();
}

void job_control::hand_over() noexcept { ::tcsetpgrp(terminal_.get(), group_); }

void job_control::take_back() noexcept {
  if (terminal_ && ::tcgetpgrp(terminal_.get()) == group_) {
    ::tcsetpgrp(terminal_.get(), ::getpgrp());
  }
}

/// Stops this job; returns whether it was stopped and continued. The kernel does not stop a job that no
/// shell could continue, such as the command of `ssh -t`.
bool job_control::stop_whole_job() noexcept {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::kill(0, SIGTSTP);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGCONT) == 1;
}

}  // namespace holdfast::cli
