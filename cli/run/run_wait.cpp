// SPDX-License-Identifier: Apache-2.0
#include "run/run_wait.hpp"

#include <chrono>
#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <thread>

#include "commands/wait_line.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// A blocking call on a thread of its own.
class background_call {
 public:
  background_call(client& locks, const std::function<void()>& call)
      : locks_{locks}, worker_{[this, &call] {
          try {
            call();
          } catch (...) {
            problem_ = std::current_exception();
          }
          ended_.raise();
        }} {}
  /// Ends the call, whose wait may have no limit.
  ~background_call() {
    if (worker_.joinable()) abandon();
  }
  background_call(const background_call&) = delete;
  background_call& operator=(const background_call&) = delete;

  [[nodiscard]] int get() const noexcept { return ended_.get(); }
  [[nodiscard]] bool ended() const noexcept { return ended_.take(); }
  /// Waits for the end. \throws what the call threw.
  void finish() {
    worker_.join();
    if (problem_) std::rethrow_exception(problem_);
  }
  /// Ends it by closing the client.
  void abandon() noexcept {
    locks_.close();
    worker_.join();
  }

 private:
  client& locks_;
  event ended_;
  std::exception_ptr problem_;
  std::jthread worker_;
};

/// Stops at Ctrl-Z like any program.
void stop_now() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);  // blocked: pending until the next line
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

/// The first signal that ends the wait. Others are dropped, because the command does not run.
std::optional<int> take_interruption(signal_inbox& signals, const ends_wait& ends,
                                     const std::function<void()>& before_stop) {
  while (const auto number = signals.take()) {
    if (ends(*number)) return number;
    if (*number != SIGTSTP) continue;
    before_stop();
    stop_now();
  }
  return std::nullopt;
}

/// Whoever has no terminal sees no line: a wait of half a minute at a server that has just started looks as
/// if it hung. \return whether the store grants nothing.
bool tell_of_pause(const client& locks, const claim& wish) {
  try {
    for (const lock_spec& each : names_of(wish)) {
      const auto lock = locks.inspect(each.name(), 0);
      if (!lock || lock->pause_reason.empty()) continue;
      complain(fmt::format("holdfast: waiting for {}: {}. This is so once after a start or a failover\n",
                           locks_text(wish), printable(lock->pause_reason)));
      return true;
    }
  } catch (const error&) {  // the wait goes on, or ends with its own error
  }
  return false;
}

}  // namespace

bool requests_end(int number) {
  return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

std::optional<int> await_call(client& locks, const claim& wish, signal_inbox& signals, const ends_wait& ends,
                              const event* troubled, const std::function<void()>& call) {
  using namespace std::chrono_literals;
  const auto requested_at = boot_clock::now();
  background_call attempt{locks, call};
  // Avoids a line that flashes up for a free lock.
  await_any({signals.get(), attempt.get()}, 150ms);
  wait_line line{locks, wish, requested_at};
  const bool tells = troubled != nullptr && !is_terminal(stderr);
  bool has_told = false;
  while (!attempt.ended()) {
    if (const auto number = take_interruption(signals, ends, [&] { line.clear(); })) {
      line.clear();
      attempt.abandon();
      return number;
    }
    line.draw();
    if (tells && troubled->take() && !has_told) has_told = tell_of_pause(locks, wish);
    await_any({signals.get(), attempt.get(), line.get(), tells ? troubled->get() : -1}, 1s);
  }
  line.clear();
  attempt.finish();
  return std::nullopt;
}

std::optional<int> await_change(int fd, const std::function<bool()>& is_so,
                                std::optional<boot_clock::time_point> until, signal_inbox& signals,
                                const ends_wait& ends) {
  for (;;) {
    if (is_so()) return std::nullopt;
    if (const auto number = take_interruption(signals, ends, [] {})) return number;
    std::optional<duration> left;
    if (until) left = std::chrono::ceil<duration>(*until - boot_clock::now());
    if (left && *left <= duration::zero()) return std::nullopt;
    await_any({signals.get(), fd}, left);
  }
}

std::optional<int> await_time(duration length, signal_inbox& signals, const ends_wait& ends) {
  return await_change(-1, [] { return false; }, boot_clock::now() + length, signals, ends);
}

void stay(const std::stop_token& lost, boot_clock::time_point until, signal_inbox& signals) {
  const event ended;
  const std::stop_callback on_lost{lost, [&] { ended.raise(); }};
  static_cast<void>(
      await_change(ended.get(), [&] { return lost.stop_requested(); }, until, signals, requests_end));
}

wait_result await_grant(client& locks, const claim& wish, signal_inbox& signals, const event* troubled) {
  wait_result result;
  result.interrupted_by =
      await_call(locks, wish, signals, requests_end, troubled, [&] { result.held = acquire(locks, wish); });
  return result;
}

}  // namespace holdfast::cli
