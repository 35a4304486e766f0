// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <system_error>

namespace holdfast::cli {

/// The exit status of the command if it ran no program, after <sysexits.h>, so that cron jobs and scripts
/// distinguish "busy" from "broken". `run` otherwise passes on the status of its command.
enum exit_status : int {
  success = 0,
  no_match = 1,            // as in grep: of `show --quiet`, the lock is not held
  deadlocked = 2,          // of `why`
  doubtful = 1,            // of `doctor`: a condition may not be kept
  broken = 2,              // of `doctor`
  bad_usage = 64,          // EX_USAGE
  stale_token = 65,        // EX_DATAERR, of `fence`: a newer token was there before
  store_unavailable = 69,  // EX_UNAVAILABLE
  internal_error = 70,     // EX_SOFTWARE
  output_failed = 74,      // EX_IOERR
  timed_out = 75,          // EX_TEMPFAIL
  lease_lost = 76,         // EX_PROTOCOL
  permission_denied = 77,  // EX_NOPERM
  not_executable = 126,    // as shells have it, and the two below
  not_found = 127,
  killed_by_signal = 128,  // plus the signal's number
};

/// The exit status for an error of the library or the system.
[[nodiscard]] exit_status status_of(std::error_code code) noexcept;

}  // namespace holdfast::cli
