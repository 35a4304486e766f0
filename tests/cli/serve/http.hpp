// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace holdfast::test {

/// A connection to a server of this machine, which says what the test wants it to say.
class connection {
 public:
  /// \param receive_buffer bytes that the kernel takes for a reader that does not read; zero: its default.
  /// \param from an address of the loopback; zero: the kernel's choice.
  /// \throws std::system_error when nobody listens.
  explicit connection(std::uint16_t port, int receive_buffer = 0, std::uint32_t from = 0);
  ~connection();
  connection(connection&& other) noexcept;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void send(std::string_view text) const;
  /// All up to this text, and with it; less when the server ends the connection or wait_limit is over.
  [[nodiscard]] std::string read_until(std::string_view end);
  [[nodiscard]] std::string read(std::size_t count);
  /// Whether the server ends the connection; what it sends before is dropped.
  [[nodiscard]] bool is_ended();

 private:
  [[nodiscard]] bool receive();

  int fd_ = -1;
  std::string received_;
};

struct http_reply {
  int status = 0;                              ///< zero: none came
  std::map<std::string, std::string> headers;  ///< by their names in lower case
  std::string body;
};

/// Reads one reply. \param has_body false: to a HEAD.
[[nodiscard]] http_reply read_reply(connection& from, bool has_body = true);

/// An event of a stream.
struct server_event {
  std::string kind;  ///< empty: the stream has ended
  std::string data;
};
[[nodiscard]] server_event read_event(connection& from);
/// Reads until an event of this kind. \return its data; null, and the test fails, if the stream ends before.
[[nodiscard]] nlohmann::json next_event(connection& from, const std::string& kind);

}  // namespace holdfast::test
