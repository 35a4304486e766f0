#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/password.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

/// A pause between two rounds of connecting, drawn from 50 % to 150 % of its length, so that the clients of a
/// failed server do not all reconnect at the same moment.
[[nodiscard]] constexpr std::chrono::milliseconds spread(std::chrono::milliseconds pause,
                                                         std::uint64_t random) {
  return pause / 2 + std::chrono::milliseconds{random % (static_cast<std::uint64_t>(pause.count()) + 1)};
}

/// The addresses of the servers of an ensemble, and the credentials.
struct settings {
  struct server {
    std::string host;
    std::string port;
  };
  std::vector<server> servers;
  session::settings recipes;
  std::chrono::milliseconds session_timeout{
      30'000};  // the requested timeout; the servers keep it within their bounds
  std::chrono::milliseconds connect_limit{10'000};  // after that long without a connection, requests fail

  std::int64_t buffer_bytes = 0xfffff;  // jute.maxbuffer of the servers and clients, which no server tells

  std::string auth_scheme;  // empty: no authentication
  std::string auth;         // user:password, or the user of `password`
  runtime::password password;
  enum class access : std::uint8_t { world, creator, digest } acl = access::world;
  std::string acl_id;  // for access::digest: user:hash

  /// user:password, for a session that begins now. \throws connection_error
  [[nodiscard]] std::string login() const {
    return password.is_given() ? auth + ':' + password.current() : auth;
  }

  /// The name of the ensemble in errors.
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
