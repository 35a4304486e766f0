// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>

namespace holdfast::test {

/// A server on the loopback with a thread of its own, which has each connection looked after that says
/// something.
class loopback_server {
 public:
  /// \return whether the connection goes on; else it is closed. Called on the server's thread.
  using service = std::function<bool(int socket)>;

  explicit loopback_server(service each);
  ~loopback_server();
  loopback_server(const loopback_server&) = delete;
  loopback_server& operator=(const loopback_server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// How many connections it has taken.
  [[nodiscard]] int connections() const noexcept { return connections_; }

 private:
  void serve(const std::stop_token& until);

  service each_;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  std::jthread thread_;
};

}  // namespace holdfast::test
