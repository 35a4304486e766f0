// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <array>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.hpp"

namespace holdfast::test {

terminal::terminal(std::vector<std::string> arguments, std::vector<std::string> environment) {
  std::vector<char*> argv;
  for (auto& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  std::vector<char*> variables;
  for (auto& each : environment) variables.push_back(each.data());
  variables.push_back(nullptr);

  winsize size{};
  size.ws_row = 24;
  size.ws_col = 200;
  pid_ = ::forkpty(&screen_, nullptr, nullptr, &size);
  if (pid_ < 0) throw std::runtime_error{"no terminal to be had"};
  if (pid_ == 0) {
    ::execvpe(argv.front(), argv.data(), variables.data());
    ::_exit(127);
  }
  ::fcntl(screen_, F_SETFD, FD_CLOEXEC);
  ::fcntl(screen_, F_SETFL, O_NONBLOCK);
}

terminal::~terminal() {
  ::close(screen_);  // hangs up
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void terminal::type(std::string_view keys) const {
  [[maybe_unused]] const auto written = ::write(screen_, keys.data(), keys.size());
}

void terminal::resize(unsigned short lines, unsigned short columns) const {
  winsize size{};
  size.ws_row = lines;
  size.ws_col = columns;
  ::ioctl(screen_, TIOCSWINSZ, &size);
}

void terminal::read_more() {
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(screen_, piece.data(), piece.size())) > 0;) {
    unread_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

bool terminal::shows(std::string_view text) {
  return eventually([&] {
    read_more();
    const auto place = unread_.find(text);
    if (place == unread_.npos) return false;
    unread_.erase(0, place + text.size());
    return true;
  });
}

std::string terminal::rest() {
  read_more();
  return unread_;
}

pid_t terminal::foreground() const { return ::tcgetpgrp(screen_); }

int terminal::wait() {
  int status = -1;
  const bool ended = eventually([&] {
    read_more();
    return ::waitpid(pid_, &status, WNOHANG) != 0;
  });
  if (!ended) return -1;
  pid_ = -1;
  read_more();
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace holdfast::test
