// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "holdfast/error.hpp"
#include "runtime/process.hpp"

namespace holdfast::runtime {

/// A thread of this library's. It takes no signals: they are the program's business, and belong to its own
/// threads. The process ends if the body throws.
/// \throws holdfast::error errc::exhausted when the system has no room for another thread.
template <class Function>
[[nodiscard]] std::thread quiet_thread(Function body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  struct restore {
    const sigset_t& mask;
    ~restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const at_exit{before};
  try {
    return std::thread{[body = std::move(body)]() mutable noexcept {
      mark_own_thread();
      body();
    }};
  } catch (const std::system_error& e) {
    throw error{errc::exhausted, std::string{"cannot create a thread of the client: "} + e.code().message()};
  }
}

/// Writing to a socket whose other side is gone raises SIGPIPE, which ends a program that does not expect it:
/// not while this lives. For what others' libraries write, such as OpenSSL.
class no_sigpipe {
 public:
  no_sigpipe() {
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE) == 1) return;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    blocked_ = pthread_sigmask(SIG_BLOCK, &pipe, &before_) == 0;
  }
  ~no_sigpipe() {
    if (!blocked_) return;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const timespec at_once{};
    while (sigtimedwait(&pipe, nullptr, &at_once) == -1 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  no_sigpipe(const no_sigpipe&) = delete;
  no_sigpipe& operator=(const no_sigpipe&) = delete;

 private:
  sigset_t before_{};
  bool blocked_ = false;
};

}  // namespace holdfast::runtime
