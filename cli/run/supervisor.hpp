// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "descriptor.hpp"
#include "run/child.hpp"
#include "run/guardian.hpp"
#include "run/hold.hpp"
#include "run/job_control.hpp"
#include "run/lease_plan.hpp"
#include "signal_inbox.hpp"

namespace holdfast::cli {

/// The end of a supervised command.
struct ending {
  int status = 0;     ///< as in a shell
  bool lost = false;  ///< it was made to end because the lease was lost, or could not be renewed in time
  bool left_workers = false;                 ///< a signal killed it, and what it had started was made to end
  std::optional<release_request> request{};  ///< somebody has asked for its release
  std::optional<int> interrupted_by{};       ///< a signal that requests the end, which was forwarded to it
};

/// Runs a command for no longer than its lease.
class supervisor {
 public:
  /// \param shares_terminal whether the command gets the terminal from the start. Otherwise it gets it when
  ///        it uses it, and until then the keyboard's signals reach this process, which forwards them.
  /// \param on_request called once, when somebody asks for the release.
  supervisor(const hold& held, duration ttl, child_process& command, guardian& guard, signal_inbox& signals,
             bool shares_terminal, std::function<void(child_process&, const release_request&)> on_request);

  /// Starts the command, and returns when it has ended and its process group needs no guardian any more.
  /// \throws failure where the command cannot be executed.
  [[nodiscard]] ending run();

 private:
  /// Keeps the guardian, the alarm and the command in step with the lease.
  void follow_lease();
  void take_signals();
  void keep_guarded();
  void take_child_change();
  void ask_to_end();
  void take_request();
  void reap_orphans();
  /// Gives what a command that was asked to end leaves in its group the time that the command had.
  void await_rest_of_group();

  const hold& held_;
  duration ttl_;
  child_process& command_;
  guardian& guard_;
  signal_inbox& signals_;
  job_control terminal_;
  bool shares_terminal_;
  alarm_clock alarm_;
  event lost_;
  std::stop_callback<std::function<void()>> on_lost_;
  event requested_;
  std::stop_callback<std::function<void()>> on_requested_;
  std::function<void(child_process&, const release_request&)> on_request_;
  std::optional<release_request> request_;
  std::optional<int> interrupted_by_;
  std::optional<boot_clock::time_point> lost_at_;
  boot_clock::time_point deadline_;
  /// The deadline that SIGTERM was sent for. Empty again where a renewal came in time after all.
  std::optional<boot_clock::time_point> terminated_deadline_;
  boot_clock::time_point terminated_at_;  // when SIGTERM was sent last
};

}  // namespace holdfast::cli
