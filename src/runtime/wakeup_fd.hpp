// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast::runtime {

/// A descriptor that becomes readable when somebody rings, to end a wait for others.
class wakeup_fd {
 public:
  /// \throws holdfast::error errc::exhausted.
  wakeup_fd();
  ~wakeup_fd();
  wakeup_fd(const wakeup_fd&) = delete;
  wakeup_fd& operator=(const wakeup_fd&) = delete;

  [[nodiscard]] int descriptor() const { return fd_; }
  /// Any thread.
  void ring() const;
  void drain() const;

 private:
  int fd_;
};

}  // namespace holdfast::runtime
