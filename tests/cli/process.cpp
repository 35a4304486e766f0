// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace holdfast::test {

namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (auto& each : strings) list.push_back(each.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

bool eventually(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + wait_limit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{3});
  }
  return true;
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream{path, std::ios::binary} << text;
}

std::optional<char> state_of(pid_t pid) {
  const auto stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(") ");
  if (name_end == stat.npos) return std::nullopt;
  return stat[name_end + 2];
}

bool is_dead(pid_t pid) {
  const auto state = state_of(pid);
  return !state || *state == 'Z' || *state == 'X';
}

std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::vector<std::string> variables = additions;
  const auto replaced = [&](std::string_view variable) {
    const auto name = variable.substr(0, variable.find('=') + 1);
    return std::ranges::any_of(additions, [&](const auto& each) { return each.starts_with(name); });
  };
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable{*each};
    if (!variable.starts_with("HOLDFAST_") && !replaced(variable)) variables.emplace_back(variable);
  }
  return variables;
}

lifeline::lifeline(const std::string& path) {
  const bool made = ::mkfifo(path.c_str(), 0600) == 0;
  fd_ = made ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  if (fd_ < 0) throw std::runtime_error{"cannot make the pipe " + path};
}

lifeline::~lifeline() { ::close(fd_); }

void lifeline::end_reader() const { EXPECT_EQ(::write(fd_, "\n", 1), 1); }

process::process(const scratch_folder& scratch, std::vector<std::string> arguments, const settings& options) {
  static std::atomic<int> count = 0;
  arguments.insert(arguments.begin(), {"setpriv", "--pdeathsig", "KILL"});
  const auto number = std::to_string(++count);
  out_ = scratch.file("out." + number);
  err_ = scratch.file("err." + number);
  auto environment = environment_with(options.environment);
  const auto* input = options.input.empty() ? "/dev/null" : options.input.c_str();
  const auto* output = options.output.empty() ? out_.c_str() : options.output.c_str();
  const auto* errors = options.errors.empty() ? err_.c_str() : options.errors.c_str();

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, input, O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT, 0600);
  ::posix_spawn_file_actions_addopen(&files, 2, errors, O_WRONLY | O_CREAT, 0600);
  // A group of its own, with us as its parent outside: in a group that nobody outside looks after, as that of
  // a job of a server may be, the kernel does not stop a process as a terminal would.
  posix_spawnattr_t group;
  ::posix_spawnattr_init(&group);
  ::posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&group, 0);
  const int problem = ::posix_spawnp(&pid_, arguments.front().c_str(), &files, &group,
                                     pointers(arguments).data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&group);
  ::posix_spawn_file_actions_destroy(&files);
  if (problem != 0) throw std::runtime_error{"cannot start " + arguments.front()};
}

process::~process() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void process::signal(int number) const { ::kill(pid_, number); }

bool process::running() {
  if (pid_ < 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  pid_ = -1;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return false;
}

result process::wait() {
  EXPECT_TRUE(eventually([this] { return !running(); })) << "still running; so far it said: " << err();
  return {status_, out(), err()};
}

}  // namespace holdfast::test
