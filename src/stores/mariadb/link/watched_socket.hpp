#pragma once

#include <exception>
#include <thread>

#include "runtime/io_deadline.hpp"

namespace holdfast::mariadb {

/// Ends the connection of a socket at a deadline, or when the client is closed, for a call that waits for it
/// by itself: a peer that sends a byte now and again would keep the call waiting for days.
class watched_socket {
 public:
  /// \throws runtime::connection_error without a thread or a descriptor.
  watched_socket(int socket, const runtime::io_deadline& limit);
  ~watched_socket();
  watched_socket(const watched_socket&) = delete;
  watched_socket& operator=(const watched_socket&) = delete;

  /// Called after the call. \throws runtime::connection_error where the connection was ended.
  void end_watch();

 private:
  void watch();
  void join() noexcept;

  const runtime::io_deadline limit_;
  int socket_;  // a copy: the call may close its own, and another may get that number
  int done_;
  std::exception_ptr ended_;
  std::thread thread_;
};

}  // namespace holdfast::mariadb
