#pragma once

#include <string>

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

}  // namespace holdfast::redis
