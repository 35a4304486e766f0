#include "signal_inbox.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include "failure.hpp"

namespace holdfast::cli {

signal_inbox::signal_inbox(std::initializer_list<int> taken) {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : taken) sigaddset(&set, each);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  fd_ = descriptor{checked(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd")};
}

signal_inbox::~signal_inbox() { close(); }

std::optional<int> signal_inbox::take() noexcept {
  signalfd_siginfo received{};
  if (::read(fd_.get(), &received, sizeof received) != sizeof received) return std::nullopt;
  return static_cast<int>(received.ssi_signo);
}

void signal_inbox::close() noexcept {
  if (!fd_) return;
  fd_.close();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace holdfast::cli
