// SPDX-License-Identifier: Apache-2.0
// A server that tests start ends with them, whatever ends them.

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults/faults.hpp"
#include "support/postgresql_server.hpp"

namespace holdfast::faults {
namespace {

using test::postgresql_server;

/// In another process: starts a server, says which processes it has, and ends as it may.
[[noreturn]] void start_and_die(int tell) {
  postgresql_server server;
  const auto client = server.console();
  server.stop();  // as they would notice nothing
  const auto processes = server.processes();
  const auto folder = server.socket_folder();
  [[maybe_unused]] auto written = ::write(tell, folder.c_str(), folder.size() + 1);
  written = ::write(tell, processes.data(), processes.size() * sizeof processes[0]);
  ::raise(SIGKILL);
  std::abort();
}

TEST(postgresql_server_itself, leaves_nothing_behind_when_the_test_process_is_killed) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const ::pid_t test = ::fork();
  if (test == 0) start_and_die(pipe[1]);
  ::close(pipe[1]);
  std::string said;
  char some[4096];
  for (ssize_t count = 0; (count = ::read(pipe[0], some, sizeof some)) > 0;) {
    said.append(some, static_cast<std::size_t>(count));
  }
  ::close(pipe[0]);
  ::waitpid(test, nullptr, 0);
  const std::string folder = said.c_str();
  const std::string_view numbers = std::string_view{said}.substr(folder.size() + 1);
  std::vector<::pid_t> processes(numbers.size() / sizeof(::pid_t));
  std::memcpy(processes.data(), numbers.data(), processes.size() * sizeof(::pid_t));
  EXPECT_GT(processes.size(), 1);
  await(
      [&] {
        std::erase_if(processes, [](::pid_t pid) { return ::kill(pid, 0) != 0; });
        return processes.empty();
      },
      "a process of the server is left");
  await([&] { return !std::filesystem::exists(folder); }, "its folder is left");
}

}  // namespace
}  // namespace holdfast::faults
