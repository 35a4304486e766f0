// SPDX-License-Identifier: Apache-2.0
#include "support/child_process.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::test {

namespace {

[[noreturn]] void fail(const std::string& text) {
  throw std::system_error{errno, std::generic_category(), text};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(std::vector<std::string> variables) {
  const auto added = variables.size();
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable{*each};
    const auto name = variable.substr(0, variable.find('=') + 1);
    const auto replaced = [&](const std::string& other) { return other.starts_with(name); };
    if (std::none_of(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(added), replaced)) {
      variables.emplace_back(variable);
    }
  }
  return variables;
}

/// The bare calls: those of the C library would have all threads follow, of which the child has one.
bool run_as(const server_user& user) {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 && ::syscall(SYS_setgid, user.group) == 0 &&
         ::syscall(SYS_setuid, user.id) == 0;
}

struct program {
  char* const* arguments;
  char* const* environment;
  const char* folder;
  const char* output;
  std::optional<server_user> user;
};

/// What the child does until it is another program: nothing that another thread's lock may stand in the way
/// of. Its errno comes back through `exec_error`.
[[noreturn]] void become(const program& p, ::pid_t parent, int exec_error) {
  const int out = ::open(p.output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);  // ours, whoever runs
  const bool right_user = !p.user || run_as(*p.user);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);     // another user would forget it
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  ::sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool ready = right_user && in >= 0 && out >= 0 && ::dup2(in, STDIN_FILENO) >= 0 &&
                     ::dup2(out, STDOUT_FILENO) >= 0 && ::dup2(out, STDERR_FILENO) >= 0 &&
                     ::chdir(p.folder) == 0;
  if (ready) ::execvpe(p.arguments[0], p.arguments, p.environment);
  const int reason = errno;
  [[maybe_unused]] const auto written = ::write(exec_error, &reason, sizeof reason);
  ::_exit(127);
}

}  // namespace

child_process::child_process(std::vector<std::string> arguments, settings options) {
  auto variables = environment_with(std::move(options.environment));
  const auto argument_pointers = pointers(arguments);
  const auto variable_pointers = pointers(variables);
  const program p{argument_pointers.data(), variable_pointers.data(),
                  options.folder.empty() ? "." : options.folder.c_str(),
                  options.output.empty() ? "/dev/null" : options.output.c_str(), options.user};
  int exec_error[2];
  if (::pipe2(exec_error, O_CLOEXEC) != 0) fail("pipe2");
  const auto parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(p, parent, exec_error[1]);
  const int fork_error = errno;
  ::close(exec_error[1]);
  int reason = pid_ < 0 ? fork_error : 0;
  if (pid_ > 0) {
    if (::read(exec_error[0], &reason, sizeof reason) > 0) ::waitpid(pid_, nullptr, 0);
    gone_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));  // glibc 2.36 hides its own from C++
  }
  ::close(exec_error[0]);
  if (reason != 0) throw std::system_error{reason, std::generic_category(), arguments.front()};
}

child_process::~child_process() {
  kill();
  ::close(gone_);
}

void child_process::send(int signal) const {
  if (!status_) ::kill(pid_, signal);
}

void child_process::stop() {
  send(SIGSTOP);
  reap(WUNTRACED);
}

void child_process::go_on() { send(SIGCONT); }

void child_process::kill() {
  if (status_) return;
  send(SIGKILL);
  reap(0);
}

std::optional<int> child_process::wait(std::chrono::milliseconds limit) {
  if (status_) return status_;
  ::pollfd ended{gone_, POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(limit.count())) > 0) reap(0);
  return status_;
}

void child_process::reap(int options) {
  int status = 0;
  if (status_ || ::waitpid(pid_, &status, options) != pid_) return;
  if (WIFEXITED(status)) status_ = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) status_ = 128 + WTERMSIG(status);
}

}  // namespace holdfast::test
