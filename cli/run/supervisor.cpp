// SPDX-License-Identifier: Apache-2.0
#include "run/supervisor.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <system_error>
#include <utility>

#include "run/process_group.hpp"

namespace holdfast::cli {

supervisor::supervisor(const hold& held, duration ttl, child_process& command, guardian& guard,
                       signal_inbox& signals, bool shares_terminal,
                       std::function<void(child_process&, const release_request&)> on_request)
    : held_{held},
      ttl_{ttl},
      command_{command},
      guard_{guard},
      signals_{signals},
      terminal_{command.group()},
      shares_terminal_{shares_terminal},
      on_lost_{held.lost, [this] { lost_.raise(); }},
      on_requested_{held.release_requested, [this] { requested_.raise(); }},
      on_request_{std::move(on_request)},
      deadline_{held.deadline()} {}

ending supervisor::run() {
  follow_lease();  // guards it before it begins
  if (shares_terminal_) terminal_.begin();
  command_.start();
  while (!command_.ended()) {
    await_any({signals_.get(), lost_.get(), requested_.get(), alarm_.get()});
    take_signals();
    follow_lease();
    take_request();
    reap_orphans();
  }
  const bool was_terminated = terminated_deadline_.has_value();
  // It did not leave its workers behind on purpose. They must not go on beside the next holder.
  const bool left_workers =
      !was_terminated && command_.was_killed() && other_member_of(command_.group()).has_value();
  if (left_workers) ask_to_end();
  if (was_terminated || left_workers) {
    await_rest_of_group();
    command_.signal_group(SIGKILL);
  }
  const bool killed = guard_.dismiss();
  return {command_.reap(), killed || was_terminated, left_workers, std::move(request_), interrupted_by_};
}

void supervisor::follow_lease() {
  keep_guarded();
  const auto now = boot_clock::now();
  if (lost_.take() && !lost_at_) lost_at_ = now;
  if (!lost_at_) deadline_ = held_.deadline();

  const auto plan = plan_for(deadline_, ttl_, lost_at_);
  // A renewal came after the SIGTERM, and the command did not end by that: the lease is not lost.
  if (!lost_at_ && now < plan.term_at && now >= terminated_at_ + kill_delay_of(ttl_))
    terminated_deadline_.reset();
  guard_.guard(command_.group(), plan.kill_at);
  if (now >= plan.term_at && terminated_deadline_ != deadline_) ask_to_end();
  if (now >= plan.kill_at) command_.signal_group(SIGKILL);

  // Renewals move the deadline without a notification. One look in each such delay is enough, and updates
  // the guardian.
  const auto next = now < plan.term_at   ? plan.term_at
                    : now < plan.kill_at ? plan.kill_at
                                         : now + kill_delay_of(ttl_);
  alarm_.set(std::min(next, now + kill_delay_of(ttl_)));
}

/// The command has ended when it was told to; what it has started may still tidy up. A `holdfast run` in it
/// releases its lock, which stays held for a ttl if it is killed instead.
void supervisor::await_rest_of_group() {
  constexpr std::chrono::milliseconds longest_pause{250};  // a process may leave the group instead of ending
  const auto end = terminated_at_ + kill_delay_of(ttl_);
  for (auto member = other_member_of(command_.group()); member && boot_clock::now() < end;
       member = other_member_of(command_.group())) {
    const auto left = std::chrono::ceil<duration>(end - boot_clock::now());
    await_any({signals_.get(), lost_.get(), alarm_.get(), member->end.get()},
              std::clamp<duration>(left, duration::zero(), longest_pause));
    take_signals();
    follow_lease();  // kills in time for the deadline, which may be sooner
  }
}

void supervisor::take_request() {
  if (!requested_.take() || request_) return;
  request_ = held_.request();
  if (request_) on_request_(command_, *request_);
}

void supervisor::take_signals() {
  while (const auto number = signals_.take()) {
    switch (*number) {
      case SIGCHLD: take_child_change(); break;  // follow_lease() looks after the guardian
      case SIGCONT: terminal_.resumed(); break;
      case SIGTTOU: break;  // for the wrapper only
      case SIGINT:
      case SIGQUIT:
      case SIGTERM:
        if (!interrupted_by_) interrupted_by_ = number;
        [[fallthrough]];
      default: command_.signal_group(*number);
    }
  }
}

void supervisor::keep_guarded() {
  try {
    static_cast<void>(guard_.replace_if_killed());
  } catch (const std::system_error&) {
    // No process can be made now. Until the next try the wrapper's own clock remains, and ends the command in
    // time.
  }
}

/// The first process of a container is the parent of all that lose theirs, and each that it does not reap
/// stays a zombie. The command and the guardian are reaped elsewhere.
void supervisor::reap_orphans() {
  for (;;) {
    siginfo_t ended{};
    ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == 0 || ended.si_pid == command_.group() || ended.si_pid == guard_.pid()) return;
    ::waitpid(ended.si_pid, nullptr, 0);
  }
}

void supervisor::take_child_change() {
  if (const auto by = command_.take_stop()) {
    follow_lease();  // updates the guardian before this process may be stopped
    terminal_.stopped(*by);
  }
}

void supervisor::ask_to_end() {
  terminated_deadline_ = deadline_;
  terminated_at_ = boot_clock::now();
  command_.signal_group(SIGTERM);
  command_.signal_group(SIGCONT);  // a stopped process handles no signal
}

}  // namespace holdfast::cli
