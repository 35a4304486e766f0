// SPDX-License-Identifier: Apache-2.0
#include "run/guardian.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "failure.hpp"

namespace holdfast::cli {

namespace {

/// An order of the wrapper, small enough for an atomic write to a pipe. A group of zero: end.
struct order {
  pid_t group = 0;
  boot_clock::time_point kill_at;
};

// Everything from here to stand_guard runs between fork and exec of a process that may have had many
// threads: system calls only, no allocation, no lock.

constexpr int longest_start = 5000;  // milliseconds
constexpr int struck_status = 1;
constexpr int unfit_status = 2;
constexpr int orders_fd = 0;
constexpr int alarm_fd = 1;

void close_others() noexcept {
  if (::close_range(alarm_fd + 1, ~0U, 0) == 0) return;
  // Linux before 5.9. A writing end of its own pipe must not stay: it would hide the wrapper's end.
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (int fd = alarm_fd + 1; static_cast<rlim_t>(fd) < limit.rlim_cur; ++fd) ::close(fd);
}

/// Moves the two needed descriptors to 0 and 1, which replaces those of the wrapper: a guardian whose orders
/// were the wrapper's standard input would kill what is written there. Then it says that it is ready, and
/// closes all others: a reader of one of the wrapper's pipes must not wait for the guardian's end.
void keep_only(int orders, int alarm, int readiness) noexcept {
  const bool both_apart = orders > alarm_fd && alarm > alarm_fd;  // no move overwrites the other
  if (!both_apart || ::dup2(orders, orders_fd) != orders_fd || ::dup2(alarm, alarm_fd) != alarm_fd)
    ::_exit(unfit_status);
  [[maybe_unused]] const auto written = ::write(readiness, "", 1);
  close_others();
}

void set_alarm(boot_clock::time_point when) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t since_boot = when.time_since_epoch().count();
  const itimerspec once{.it_interval = {},
                        .it_value = {.tv_sec = since_boot / second, .tv_nsec = since_boot % second}};
  ::timerfd_settime(alarm_fd, TFD_TIMER_ABSTIME, &once, nullptr);
}

/// Fails where the command has changed its user. The wrapper says so, if it is there.
void kill_group(pid_t group) noexcept {
  if (group > 1) ::kill(-group, SIGKILL);
}

/// A new order has precedence over the alarm: the wrapper may have moved the time while both were stopped.
[[noreturn]] void stand_guard() noexcept {
  pid_t group = 0;
  bool struck = false;
  for (;;) {
    std::array<pollfd, 2> both{pollfd{orders_fd, POLLIN, 0}, pollfd{alarm_fd, POLLIN, 0}};
    if (::poll(both.data(), both.size(), -1) < 0) continue;
    if (both[0].revents != 0) {
      order next;
      if (::read(orders_fd, &next, sizeof next) != sizeof next) {  // the wrapper is gone
        kill_group(group);
        ::_exit(0);
      }
      if (next.group == 0) ::_exit(struck ? struck_status : 0);
      group = next.group;
      set_alarm(next.kill_at);
    } else if (both[1].revents != 0) {
      kill_group(std::exchange(group, 0));  // once: later the number may belong to others
      struck = true;
      set_alarm(boot_clock::time_point{});  // zero turns it off
    }
  }
}

/// Leaves the wrapper's terminal, session and group, so that their signals do not reach the guardian.
void step_aside() noexcept {
  ::setsid();
  // Not "holdfast…": `pkill -9 holdfast` must not kill the guardian, which then ends the command.
  ::prctl(PR_SET_NAME, "lease-guard");
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

guardian::guardian() {
  const descriptor readiness = begin();
  // Waits until the guardian is ready. Before that, a signal to the wrapper's group or name would hit the
  // guardian, too. A replacement gets its orders first, and nobody waits for it.
  pollfd ready{readiness.get(), POLLIN, 0};
  char byte = 0;
  if (::poll(&ready, 1, longest_start) == 1 && ::read(readiness.get(), &byte, 1) == 0) {
    await_end();
    throw failure{internal_error,
                  "the process that guards the command has no descriptors for its orders; raise 'ulimit -n'"};
  }
}

descriptor guardian::begin() {
  auto readiness = make_channel();
  auto orders = make_channel();
  const alarm_clock alarm;
  // Before it lives: the wrapper may end before the next order.
  const order last{group_, kill_at_};
  if (group_ != 0) checked(static_cast<int>(::write(orders.writing.get(), &last, sizeof last)), "write");
  pid_ = checked(::fork(), "fork");
  if (pid_ == 0) {
    step_aside();
    keep_only(orders.reading.get(), alarm.get(), readiness.writing.get());
    stand_guard();
  }
  orders_ = std::move(orders.writing);
  // A guardian that is stopped reads no orders. A full pipe must not stop the wrapper, too.
  ::fcntl(orders_.get(), F_SETFL, O_NONBLOCK);
  return std::move(readiness.reading);
}

bool guardian::replace_if_killed() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != pid_) return false;
  pid_ = -1;
  static_cast<void>(begin());
  return true;
}

guardian::~guardian() {
  orders_.close();
  if (pid_ > 0) await_end();
}

void guardian::guard(pid_t group, boot_clock::time_point kill_at) noexcept {
  const order next{group, kill_at};
  group_ = group;
  kill_at_ = kill_at;
  // Where the guardian was killed a moment ago, this fails; the next one gets the order again.
  if (::write(orders_.get(), &next, sizeof next) >= 0 || errno != EAGAIN) return;
  // It has been stopped for long, and the next one must get this order.
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

/// A stopped guardian would never end, and the lock would stay held.
int guardian::await_end() noexcept {
  int status = 0;
  ::kill(pid_, SIGCONT);
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return status;
}

bool guardian::dismiss() noexcept {
  if (pid_ < 0) return false;
  guard(0, {});
  const int status = await_end();
  return WIFEXITED(status) && WEXITSTATUS(status) == struck_status;
}

}  // namespace holdfast::cli
