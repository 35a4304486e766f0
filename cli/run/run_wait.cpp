#include "run/run_wait.hpp"

#include <chrono>
#include <csignal>
#include <exception>
#include <thread>

#include "commands/wait_line.hpp"

namespace holdfast::cli {

namespace {

/// A blocking acquire on a thread of its own.
class background_acquire {
 public:
  background_acquire(client& locks, const claim& wish)
      : worker_{[this, &locks, &wish] {
          try {
            held_ = acquire(locks, wish);
          } catch (...) {
            problem_ = std::current_exception();
          }
          ended_.raise();
        }} {}

  [[nodiscard]] int get() const noexcept { return ended_.get(); }
  [[nodiscard]] bool ended() const noexcept { return ended_.take(); }
  /// Waits for the end. \throws what acquiring threw.
  std::optional<lease> result() {
    worker_.join();
    if (problem_) std::rethrow_exception(problem_);
    return std::move(held_);
  }
  void abandon(client& locks) noexcept {
    locks.close();
    worker_.join();
  }

 private:
  event ended_;
  std::optional<lease> held_;
  std::exception_ptr problem_;
  std::jthread worker_;
};

/// Stops at Ctrl-Z like any program, and draws the line again afterwards.
void stop_now(wait_line& line) {
  line.clear();
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);  // blocked: pending until the next line
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

/// The first signal that requests the end. Other signals are dropped, because the command does not run yet.
std::optional<int> take_interruption(signal_inbox& signals, wait_line& line) {
  while (const auto number = signals.take()) {
    switch (*number) {
      case SIGHUP:
      case SIGINT:
      case SIGQUIT:
      case SIGTERM: return number;
      case SIGTSTP: stop_now(line); break;
      default: break;
    }
  }
  return std::nullopt;
}

}  // namespace

wait_result await_grant(client& locks, const claim& wish, signal_inbox& signals) {
  using namespace std::chrono_literals;
  background_acquire attempt{locks, wish};
  // Avoids a line that flashes up for a free lock.
  await_any({signals.get(), attempt.get()}, 150ms);
  wait_line line{locks, wish.name};
  while (!attempt.ended()) {
    if (const auto number = take_interruption(signals, line)) {
      line.clear();
      attempt.abandon(locks);
      return {std::nullopt, number};
    }
    line.draw();
    await_any({signals.get(), attempt.get(), line.get()}, 1s);
  }
  line.clear();
  return {attempt.result(), std::nullopt};
}

}  // namespace holdfast::cli
