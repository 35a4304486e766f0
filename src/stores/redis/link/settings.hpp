#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "stores/redis/protocol/dialect.hpp"

namespace holdfast::redis {

/// Where a server is, and how to get in.
struct settings {
  std::string host = "127.0.0.1";
  std::string port = "6379";
  std::string path;  // of a Unix socket; then there is no host
  std::string user = "default";
  std::string password;
  std::uint32_t database = 0;

  struct {
    bool on = false;
    std::string ca;    // a file of certificates to trust; empty: those of the system
    std::string cert;  // our own, for servers that ask for one
    std::string key;
    std::string name;  // that the server's certificate has to bear; empty: the host
    bool verify = true;
  } tls;

  std::chrono::milliseconds connect_limit{5000};  // for all of connecting, names and handshakes included
  std::chrono::milliseconds answer_limit{5000};   // a server that owes an answer for longer is taken for gone
  std::chrono::milliseconds quiet_limit{
      15000};  // after that long without a word it is asked whether it lives

  dialect speech;

  /// As errors name it.
  [[nodiscard]] std::string place() const {
    if (!path.empty()) return path;
    return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  }
};

}  // namespace holdfast::redis
