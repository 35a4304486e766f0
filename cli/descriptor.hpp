// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <holdfast/lease.hpp>

namespace holdfast::cli {

/// Owns a file descriptor; everything made here is closed on exec.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) noexcept : fd_{fd} {}
  ~descriptor() { close(); }
  descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  void close() noexcept;

 private:
  int fd_ = -1;
};

struct channel {
  descriptor reading;
  descriptor writing;
};

/// A pipe.
[[nodiscard]] channel make_channel();

/// An event that any thread raises and `await_any` notices.
class event {
 public:
  event();
  void raise() const noexcept;
  /// Whether it was raised since the last time.
  bool take() const noexcept;
  [[nodiscard]] int get() const noexcept { return fd_.get(); }

 private:
  descriptor fd_;
};

/// A timer that becomes readable at a time of the deadline clock, also right after a sleep of the machine.
class alarm_clock {
 public:
  alarm_clock();
  void set(boot_clock::time_point when) const noexcept;
  [[nodiscard]] int get() const noexcept { return fd_.get(); }

 private:
  descriptor fd_;
};

/// Waits until one of these can be read; with a limit, at most so long.
void await_any(const std::vector<int>& descriptors, std::optional<duration> limit = std::nullopt);
/// As await_any, or until nobody reads `out` any more.
void await_any_or_hangup(const std::vector<int>& descriptors, int out,
                         std::optional<duration> limit = std::nullopt);
/// Whether a write to `out` would fail because its reader is gone, or its terminal. Never for a file.
[[nodiscard]] bool is_hung_up(int out);

/// Waits until `out` can be written, or one of the others can be read. Reading has precedence.
/// \return whether `out` can be written.
[[nodiscard]] bool await_room(int out, const std::vector<int>& others);

}  // namespace holdfast::cli
