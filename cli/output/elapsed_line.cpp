// SPDX-License-Identifier: Apache-2.0
#include "output/elapsed_line.hpp"

#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <system_error>
#include <utility>

#include "output/text.hpp"

namespace holdfast::cli {

elapsed_line::elapsed_line(std::string task) : task_{std::move(task)} {
  if (!line_.on()) return;
  // Signals are for the thread that called.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    teller_.emplace([this] { tell(); });
  } catch (const std::system_error&) {
    // No thread is to be had: the call matters more than the line.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

elapsed_line::~elapsed_line() {
  {
    const std::scoped_lock hold{guard_};
    over_ = true;
  }
  changed_.notify_one();
  teller_.reset();  // joins, before the line is wiped
}

void elapsed_line::tell() {
  using namespace std::chrono_literals;
  std::unique_lock hold{guard_};
  for (auto pause = 500ms; !changed_.wait_for(hold, pause, [this] { return over_; }); pause = 1000ms) {
    line_.show(fmt::format("{}: {}", task_,
                           to_text(std::chrono::duration_cast<duration>(boot_clock::now() - since_))));
  }
}

}  // namespace holdfast::cli
