// SPDX-License-Identifier: Apache-2.0
#include "signal_inbox.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include "failure.hpp"

namespace holdfast::cli {

namespace {

/// Signals that nohup or a shell's & ignores stay ignored: a blocked one would be queued and treated as a
/// request to end.
bool is_ignored(int number) {
  struct sigaction now{};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_IGN;
}

}  // namespace

signal_inbox::signal_inbox(std::initializer_list<int> taken) {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : taken) {
    if (!is_ignored(each)) sigaddset(&set, each);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  fd_ = descriptor{checked(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd")};
}

signal_inbox::~signal_inbox() { close(); }

std::optional<int> signal_inbox::take() noexcept {
  signalfd_siginfo received{};
  if (::read(fd_.get(), &received, sizeof received) != sizeof received) return std::nullopt;
  return static_cast<int>(received.ssi_signo);
}

void signal_inbox::discard() noexcept {
  while (take()) {
  }
}

void signal_inbox::close() noexcept {
  if (!fd_) return;
  fd_.close();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace holdfast::cli
