// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/password.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

/// A pause between two rounds of connecting, drawn from 50 % to 150 % of its length, so that the clients of a
/// failed server do not all reconnect at the same moment. Apache's library asks for a sixtieth of the
/// session's timeout: with a long one a server that is back would be found minutes later.
[[nodiscard]] constexpr std::chrono::milliseconds spread(std::chrono::milliseconds pause,
                                                         std::uint64_t random) {
  const auto length = std::min<std::chrono::milliseconds>(pause, std::chrono::seconds{1});
  return length / 2 + std::chrono::milliseconds{random % (static_cast<std::uint64_t>(length.count()) + 1)};
}

/// How long an attempt to connect waits for a server. As in ZooKeeper's Java client: all servers can be tried
/// within `all`. Twice as long in each further round, because all servers may be slow, up to a limit: a host
/// that is off and comes back answers the next attempt, or, if it was the only one, may never answer the
/// last.
/// \param left the number of attempts in a row that had no answer.
/// \param is_reached the server's host has taken the connection.
[[nodiscard]] constexpr std::chrono::milliseconds patience_with_each(std::chrono::milliseconds all,
                                                                     std::size_t servers, std::size_t left,
                                                                     bool is_reached) {
  constexpr std::chrono::milliseconds least{100};
  const auto share = std::max<std::chrono::milliseconds>(all / servers, least);
  const auto rounds = std::min<std::size_t>(left / servers, 10);
  return std::min<std::chrono::milliseconds>(share * (1U << rounds),
                                             std::chrono::seconds{is_reached ? 30 : 2});
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

  std::string auth;  // user:password, or the user of `password`; empty: no authentication
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
