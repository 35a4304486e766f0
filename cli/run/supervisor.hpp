#pragma once

#include <memory>
#include <optional>

#include "descriptor.hpp"
#include "run/child.hpp"
#include "run/guardian.hpp"
#include "run/job_control.hpp"
#include "run/lease_plan.hpp"
#include "signal_inbox.hpp"
#include <holdfast/lease.hpp>

namespace holdfast::cli {

/// The end of a supervised command.
struct ending {
  int status = 0;     ///< as in a shell
  bool lost = false;  ///< it was made to end because the lease was lost, or could not be renewed in time
};

/// Runs a command for no longer than its lease.
class supervisor {
 public:
  supervisor(lease& held, duration ttl, child_process& command, guardian& guard, signal_inbox& signals);

  /// Starts the command, and returns when it has ended and its process group needs no guardian any more.
  /// \throws failure where the command cannot be executed.
  [[nodiscard]] ending run();

 private:
  /// Keeps the guardian, the alarm and the command in step with the lease.
  void follow_lease();
  void take_signals();
  void keep_guarded();
  void take_child_change();
  void ask_to_end() noexcept;

  lease& held_;
  duration ttl_;
  child_process& command_;
  guardian& guard_;
  signal_inbox& signals_;
  job_control terminal_;
  alarm_clock alarm_;
  std::shared_ptr<event> lost_ = std::make_shared<event>();  // shared with a callback that may outlive us
  std::optional<boot_clock::time_point> lost_at_;
  boot_clock::time_point deadline_;
  std::optional<boot_clock::time_point> terminated_deadline_;  // the deadline that SIGTERM was sent for
};

}  // namespace holdfast::cli
