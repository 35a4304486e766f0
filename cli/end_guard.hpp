// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

#include "descriptor.hpp"
#include "signal_inbox.hpp"

namespace holdfast::cli {

/// Watches over the end of a process that was told to end: threads may be with a server that does not answer,
/// and hold nothing that is worth waiting for. While this lives, a further signal ends the process at once,
/// with status 128 and its number, and the end of the limit does with status 0.
class end_guard {
 public:
  /// \param signals that were taken so far are not further ones.
  end_guard(signal_inbox& signals, std::chrono::milliseconds limit);
  /// Waits for nothing.
  ~end_guard();
  end_guard(const end_guard&) = delete;
  end_guard& operator=(const end_guard&) = delete;

 private:
  event ended_;
  std::jthread thread_;  // the last: it uses the other
};

}  // namespace holdfast::cli
