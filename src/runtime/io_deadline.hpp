// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

#include "base/failure.hpp"

namespace holdfast::runtime {

/// Thrown where a connection cannot be made, or is over.
class connection_error : public std::exception {
 public:
  /// \param worth_retrying whether another try may succeed.
  /// \param is_planned the client itself gives the connection up, to have another at once: what is not sent
  /// yet waits for that.
  // NOLINTNEXTLINE(google-explicit-constructor): as any failure is one
  connection_error(failure reason, bool worth_retrying = true, bool is_planned = false)
      : reason{std::move(reason)}, retryable{worth_retrying}, planned{is_planned} {}
  [[nodiscard]] const char* what() const noexcept override { return reason.message.c_str(); }

  failure reason;
  bool retryable;
  bool planned;
};

/// What the exception that is being handled means for a connection: a connection_error; holdfast::error, if
/// the process is out of threads or descriptors; and others, if the server has sent what nobody expects. The
/// process ends if memory has run out.
[[nodiscard]] connection_error caught_connection_error() noexcept;

/// Waits for a descriptor, but not beyond a deadline, nor when the client is being closed.
class io_deadline {
 public:
  /// \param stop an eventfd that becomes readable when the client is closed.
  io_deadline(std::chrono::milliseconds limit, int stop);

  /// The same, with that part of the time that is left.
  [[nodiscard]] io_deadline share(std::size_t parts) const;
  /// The same, as a limit of its own, which errors name.
  [[nodiscard]] io_deadline part(std::size_t parts) const;
  /// What is waited for next, for the error.
  void begin(const char* stage) { stage_ = stage; }
  /// \param events of poll. \throws connection_error.
  void wait(int fd, short events) const;
  /// For a peer that never lets the caller wait. \throws connection_error where the time is over.
  void require_time() const;

 private:
  [[noreturn]] void give_up() const;

  std::chrono::steady_clock::time_point until_;
  std::chrono::milliseconds limit_;
  int stop_;
  const char* stage_ = "the host's address";
};

}  // namespace holdfast::runtime
