// SPDX-License-Identifier: Apache-2.0
#include "run/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "failure.hpp"

namespace holdfast::cli {

namespace {

/// The data of the child, prepared before the fork, because nothing may be allocated after it.
struct image {
  const char* path;
  char* const* arguments;
  char* const* shell_arguments;
  char* const* environment;
  const inherited_signals* signals;
  pid_t parent;
  int gate;
  int failure;
};

/// A script without a #! line is run by the shell, as shells and execvp do.
void execute(const image& executable) noexcept {
  ::execve(executable.path, executable.arguments, executable.environment);
  if (errno == ENOEXEC) ::execve("/bin/sh", executable.shell_arguments, executable.environment);
}

/// Runs in the child; system calls only.
[[noreturn]] void become(const image& executable) noexcept {
  // Without a group of its own nobody could end it with all that it starts.
  if (::setpgid(0, 0) != 0) ::_exit(internal_error);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char opened = 0;
  // A parent that died before the line above sends no signal any more; the gate closed, though.
  if (::getppid() != executable.parent || ::read(executable.gate, &opened, 1) != 1) ::_exit(internal_error);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, executable.signals->pipe);
  ::pthread_sigmask(SIG_SETMASK, &executable.signals->mask, nullptr);
  execute(executable);
  const int code = errno;
  [[maybe_unused]] const auto written = ::write(executable.failure, &code, sizeof code);
  ::_exit(not_found);
}

/// Leaves it a zombie. Zeros where it has not ended.
siginfo_t ending_of(pid_t pid) noexcept {
  siginfo_t change{};
  ::waitid(P_PID, static_cast<id_t>(pid), &change, WEXITED | WNOHANG | WNOWAIT);
  return change;
}

}  // namespace

child_process::child_process(const program& command, std::vector<std::string> environment,
                             const inherited_signals& signals)
    : path_{command.path()} {
  auto arguments = command.arguments();
  auto shell_arguments = arguments;
  shell_arguments.front() = path_;
  shell_arguments.insert(shell_arguments.begin(), "sh");
  const pointer_list direct{arguments};
  const pointer_list by_shell{shell_arguments};
  const pointer_list variables{environment};
  auto gate = make_channel();
  auto outcome = make_channel();
  const image executable{path_.c_str(), direct.get(), by_shell.get(),     variables.get(),
                         &signals,      ::getpid(),   gate.reading.get(), outcome.writing.get()};
  // The child must not hold the gate's other end, or it would wait for itself.
  pid_ = checked(::fork(), "fork");
  if (pid_ == 0) {
    ::close(gate.writing.get());
    become(executable);
  }
  ::setpgid(pid_, pid_);  // parent and child both do this, whichever is first
  gate_ = std::move(gate.writing);
  failure_ = std::move(outcome.reading);
}

child_process::~child_process() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  reap();
}

void child_process::start() {
  [[maybe_unused]] const auto written = ::write(gate_.get(), "", 1);
  gate_.close();
  int code = 0;
  ssize_t received = 0;
  do {
    received = ::read(failure_.get(), &code, sizeof code);
  } while (received < 0 && errno == EINTR);
  failure_.close();
  if (received != sizeof code) return;  // closed by exec
  // Not reaped yet: the guardian, which may signal the group, is still there.
  throw failure{code == ENOENT ? not_found : not_executable,
                fmt::format("cannot execute '{}': {}", path_, std::strerror(code))};
}

void child_process::signal_group(int number) {
  if (::kill(-pid_, number) == 0 || errno != EPERM) return;
  if (const auto call = std::exchange(on_refusal_, nullptr)) call();
}

std::optional<int> child_process::take_stop() const noexcept {
  siginfo_t change{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &change, WSTOPPED | WNOHANG);
  if (change.si_pid == 0) return std::nullopt;
  return change.si_status;
}

bool child_process::ended() const noexcept { return ending_of(pid_).si_pid != 0; }

bool child_process::was_killed() const noexcept {
  const int code = ending_of(pid_).si_code;
  return code == CLD_KILLED || code == CLD_DUMPED;
}

int child_process::reap() noexcept {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? killed_by_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace holdfast::cli
