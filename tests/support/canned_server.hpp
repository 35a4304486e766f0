#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <thread>

namespace holdfast::test {

/// A server that says what it is told to, whatever it is asked: every connection gets the bytes as soon as it
/// has sent something, again for each time that it sends.
class canned_server {
 public:
  enum class then { stay, close };

  explicit canned_server(std::string bytes, then afterwards = then::stay);
  ~canned_server();
  canned_server(const canned_server&) = delete;
  canned_server& operator=(const canned_server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// How many connections it has taken.
  [[nodiscard]] int connections() const noexcept { return connections_; }

 private:
  void serve(const std::stop_token& until);

  std::string bytes_;
  then afterwards_;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  std::jthread thread_;
};

}  // namespace holdfast::test
