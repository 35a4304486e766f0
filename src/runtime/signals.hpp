#pragma once

#include <csignal>
#include <pthread.h>
#include <thread>
#include <utility>

#include "runtime/process.hpp"

namespace holdfast::runtime {

/// A thread of this library's. It takes no signals: they are the program's business, and belong to its own
/// threads.
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
  return std::thread{[body = std::move(body)]() mutable {
    mark_own_thread();
    body();
  }};
}

}  // namespace holdfast::runtime
