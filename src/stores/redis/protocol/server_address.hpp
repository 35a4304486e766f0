// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace holdfast::redis {

/// Where a server, or a Sentinel, listens.
struct server_address {
  std::string host;
  std::string port;
  std::string path{};  // of a Unix socket; then there is no host

  /// As errors name it.
  [[nodiscard]] std::string place() const {
    if (!path.empty()) return path;
    return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  }
  friend bool operator==(const server_address&, const server_address&) = default;
};

/// Whether a server may name that as the host of another one: without blanks, control characters and what has
/// a meaning in a URL.
[[nodiscard]] bool is_host(std::string_view text);
[[nodiscard]] bool is_port(std::string_view text);

}  // namespace holdfast::redis
