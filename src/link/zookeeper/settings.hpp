#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "protocol/zookeeper/session.hpp"

namespace holdfast::zookeeper {

/// Where the servers of an ensemble are, and how to get in.
struct settings {
  struct server {
    std::string host;
    std::string port;
  };
  std::vector<server> servers;
  session::settings recipes;
  std::chrono::milliseconds session_timeout{30'000};  // asked for; the servers decide within their bounds
  std::chrono::milliseconds connect_limit{10'000};    // after that long without a connection, requests fail

  std::string auth_scheme;  // empty: nobody in particular
  std::string auth;
  enum class access : std::uint8_t { world, creator, digest } acl = access::world;
  std::string acl_id;  // for access::digest: user:hash

  /// As errors name it.
  [[nodiscard]] std::string place() const {
    std::string all;
    for (const server& s : servers) {
      const bool v6 = s.host.find(':') != std::string::npos;
      all.append(all.empty() ? "" : ",")
          .append(v6 ? "[" : "")
          .append(s.host)
          .append(v6 ? "]:" : ":")
          .append(s.port);
    }
    return all;
  }
};

}  // namespace holdfast::zookeeper
