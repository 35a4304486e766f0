// SPDX-License-Identifier: Apache-2.0
#include "support/actor.hpp"

#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::test {

namespace {

template <class Number>
Number number_after(std::string_view answer, std::string_view prefix) {
  Number value = 0;
  if (!answer.starts_with(prefix)) return value;
  answer.remove_prefix(prefix.size());
  std::from_chars(answer.data(), answer.data() + answer.size(), value);
  return value;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

actor::actor(const std::vector<std::string>& environment) : actor{{HOLDFAST_TEST_ACTOR}, environment} {}

actor::actor(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  // An actor that is gone is noticed by what it no longer says, not by a signal that ends the test.
  std::signal(SIGPIPE, SIG_IGN);
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe2"};
  }
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);

  // Which is for this process alone: an actor is a program like any other.
  ::posix_spawnattr_t attributes;
  ::sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &pipe);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> variables{environment};
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const int failed = ::posix_spawnp(&pid_, command.front().c_str(), &actions, &attributes,
                                    pointers(command).data(), pointers(variables).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  output_ = out[0];
  if (failed != 0) throw std::system_error{failed, std::generic_category(), command.front()};
}

actor::~actor() {
  kill();
  ::close(output_);
}

void actor::tell(std::string_view command) {
  const std::string line = std::string{command} + '\n';
  // A pipe takes lines of this length whole.
  [[maybe_unused]] const auto written = ::write(input_, line.data(), line.size());
}

std::string actor::hear(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const auto end = heard_.find('\n'); end != std::string::npos) {
      std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ::pollfd readable{output_, POLLIN, 0};
    char bytes[4096];
    ssize_t count = 0;
    if (left.count() > 0 && ::poll(&readable, 1, static_cast<int>(left.count())) > 0) {
      count = ::read(output_, bytes, sizeof bytes);
    }
    if (count <= 0) {
      ADD_FAILURE() << "actor " << pid_ << " said nothing more";
      return {};
    }
    heard_.append(bytes, static_cast<std::size_t>(count));
  }
}

fencing_token actor::hold(std::string_view name_and_options) {
  const std::string answer = ask("hold " + std::string{name_and_options});
  EXPECT_TRUE(token_in(answer)) << answer;
  return token_in(answer);
}

void actor::send(int signal) {
  ::kill(pid_, signal);
  if (signal != SIGSTOP) return;
  // It goes on for a while: on another processor until that is told, and while no processor takes it up.
  ::siginfo_t stopped{};
  EXPECT_EQ(::waitid(P_PID, static_cast<::id_t>(pid_), &stopped, WSTOPPED), 0);
}

void actor::kill() {
  if (pid_ < 0) return;
  send(SIGKILL);
  reap();
}

int actor::finish() { return reap(); }

int actor::reap() {
  ::close(input_);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

fencing_token token_in(std::string_view answer) {
  return fencing_token{number_after<std::uint64_t>(answer, "held ")};
}

std::error_code code_in(std::string_view answer) {
  const int value = number_after<int>(answer, "failed ");
  if (value == 0) return {};
  return {value, category()};
}

}  // namespace holdfast::test
