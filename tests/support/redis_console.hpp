// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

/// A connection to a Redis server on a Unix socket, as a person at redis-cli has one: a command, and its
/// reply as text. For setting scenes and looking behind them; it blocks.
class redis_console {
 public:
  /// Not connected, and told so by `connected()`, where nobody listens.
  explicit redis_console(const std::string& socket_path);
  ~redis_console();
  redis_console(const redis_console&) = delete;
  redis_console& operator=(const redis_console&) = delete;

  [[nodiscard]] bool connected() const noexcept { return connected_; }
  /// Strings and numbers as they are; an error with its "-" before it; "(nil)"; the items of a list one a
  /// line. Empty when the connection ended instead.
  std::string ask(const std::vector<std::string>& arguments);
  /// Sends without waiting for the reply.
  void tell(const std::vector<std::string>& arguments);

 private:
  std::string reply();
  std::string line();
  std::string bytes(std::size_t count);
  bool receive();

  int socket_ = -1;
  bool connected_ = false;
  std::string received_;
};

}  // namespace holdfast::test
