// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "descriptor.hpp"
#include "run/run_wait.hpp"
#include "signal_inbox.hpp"
#include <holdfast/boot_clock.hpp>

namespace holdfast::cli {

/// A file that this process has locked exclusively by flock(2), as flock(1) does; the programs that it starts
/// inherit the lock. So the lock lasts as long as the command if this process is killed.
class file_lock {
 public:
  file_lock() = default;
  explicit file_lock(descriptor locked) noexcept : file_{std::move(locked)} {}
  /// Unlocks it, also for those who inherited it: what the command leaves in the background does not have it.
  ~file_lock();
  file_lock(file_lock&&) noexcept = default;
  file_lock& operator=(file_lock&&) = delete;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(file_); }

 private:
  descriptor file_;
};

/// How the wait for a file ended: with the lock, with a signal that ends the wait, or with neither, because
/// others had the file until the time was up.
struct file_wait {
  file_lock locked;
  std::optional<int> interrupted_by{};
};

/// Makes the file if it does not exist, as flock(1) does, with the mode that the umask leaves; its content
/// does not matter. A folder may be locked, too.
///
/// A wait that ends without the lock leaves a thread behind that may still get it, so this process has to
/// end.
/// \param until empty: no limit; passed: try once. \throws failure, std::system_error if the file cannot be
/// locked.
[[nodiscard]] file_wait await_file(const std::string& path, std::optional<boot_clock::time_point> until,
                                   signal_inbox& signals, const ends_wait& ends);

}  // namespace holdfast::cli
