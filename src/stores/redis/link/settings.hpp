#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "stores/redis/protocol/dialect.hpp"

namespace holdfast::redis {

/// The address of a server, and the credentials.
struct settings {
  std::string host = "127.0.0.1";
  std::string port = "6379";
  std::string path;  // of a Unix socket; then there is no host
  std::string user = "default";
  std::string password;
  std::uint32_t database = 0;

  struct {
    bool on = false;
    std::string ca;    // a file of trusted certificates; empty: those of the system
    std::string cert;  // the client's, for servers that ask for one
    std::string key;
    std::string name;  // the name in the server's certificate; empty: the host
    bool verify = true;
  } tls;

  std::chrono::milliseconds connect_limit{5000};  // for connecting, with name look-ups and handshakes
  std::chrono::milliseconds answer_limit{5000};   // a reply that takes longer closes the connection
  std::chrono::milliseconds quiet_limit{15000};   // after so long without a reply the client sends a PING

  dialect speech;

  /// As errors name it.
  [[nodiscard]] std::string place() const {
    if (!path.empty()) return path;
    return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  }
};

}  // namespace holdfast::redis
