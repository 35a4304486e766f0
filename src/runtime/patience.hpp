#pragma once

#include <chrono>
#include <cstddef>

#include "base/failure.hpp"

namespace holdfast::runtime {

/// Thrown where a connection cannot be had, or is over.
struct connection_error {
  failure why;
  bool passing = true;  // worth another try
  /// The client itself gives the connection up, to have another at once: what is not sent yet waits for that.
  bool planned = false;
};

/// Waits for a descriptor, but not beyond a deadline, nor when the client is being closed.
class patience {
 public:
  /// \param stop an eventfd that becomes readable when the client is closed.
  patience(std::chrono::milliseconds limit, int stop);

  /// The same, with that part of the time that is left.
  [[nodiscard]] patience share(std::size_t parts) const;
  /// What is waited for next, for the error.
  void begin(const char* stage) { stage_ = stage; }
  /// \param events of poll. \throws connection_error.
  void wait(int fd, short events) const;

 private:
  std::chrono::steady_clock::time_point until_;
  std::chrono::milliseconds limit_;
  int stop_;
  const char* stage_ = "the host's address";
};

}  // namespace holdfast::runtime
