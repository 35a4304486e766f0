// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/failure.hpp"
#include "holdfast/error.hpp"

namespace holdfast::c {

/// An eventfd. It is close-on-exec, and no call on it blocks.
class event_descriptor {
 public:
  /// \throws holdfast::error errc::exhausted.
  explicit event_descriptor(int flags) : fd_{::eventfd(0, flags | EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (fd_ < 0) throw error{code_of(errno), "cannot make an eventfd"};
  }
  ~event_descriptor() { ::close(fd_); }
  event_descriptor(const event_descriptor&) = delete;
  event_descriptor& operator=(const event_descriptor&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// Makes it readable. A counter that is full is readable, too.
  void add(std::uint64_t count) const noexcept {
    [[maybe_unused]] const auto written = ::write(fd_, &count, sizeof count);
  }
  /// Makes it unreadable.
  void clear() const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(fd_, &count, sizeof count);
  }

 private:
  int fd_;
};

/// A descriptor that is readable from the time at which a stop token fires. Made when it is first wanted.
class stop_descriptor {
 public:
  /// May be called from several threads. \throws holdfast::error errc::exhausted.
  [[nodiscard]] int fd(const std::stop_token& token) {
    const std::lock_guard held{mutex_};
    if (!made_) made_ = std::make_unique<made>(token);
    return made_->event.fd();
  }
  /// In a child after fork(): the token's thread is not there, and its lock may be held for ever. So the
  /// callback stays registered, and the descriptor open until the child ends or calls an exec function.
  void abandon() noexcept { [[maybe_unused]] const made* const left = made_.release(); }

 private:
  struct made {
    explicit made(const std::stop_token& token) : callback{token, [this] { event.add(UINT64_MAX - 1); }} {}
    // As a semaphore, so that whoever reads it by mistake takes 1 of that, and it stays readable.
    event_descriptor event{EFD_SEMAPHORE};
    std::stop_callback<std::function<void()>> callback;
  };
  std::mutex mutex_;
  std::unique_ptr<made> made_;
};

}  // namespace holdfast::c
