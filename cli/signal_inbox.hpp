// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "descriptor.hpp"

namespace holdfast::cli {

/// Takes signals as messages instead of interruptions. Make it before the first thread, so that all
/// threads leave them to it. Dispositions stay as they were, and a signal that is ignored, as nohup leaves
/// SIGHUP, is not taken.
class signal_inbox {
 public:
  explicit signal_inbox(std::initializer_list<int> taken);
  /// Gives the signals back to their dispositions.
  ~signal_inbox();
  signal_inbox(const signal_inbox&) = delete;
  signal_inbox& operator=(const signal_inbox&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_.get(); }
  /// The oldest signal that has come and was not taken; empty where there is none.
  std::optional<int> take() noexcept;
  /// Drops the signals that have come. close() would let them end or stop this process.
  void discard() noexcept;
  /// The signals that were blocked before, for programs that get the original mask.
  [[nodiscard]] const sigset_t& mask_before() const noexcept { return before_; }
  /// Restores the normal effect of signals.
  void close() noexcept;

 private:
  sigset_t before_{};
  descriptor fd_;
};

}  // namespace holdfast::cli
