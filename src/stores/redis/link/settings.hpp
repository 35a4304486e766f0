// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/password.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// What is sent to a server that asks for it.
struct login_data {
  std::string user;
  std::string password;
};

struct credentials {
  std::string user = "default";
  runtime::password password;

  /// Whether there is anybody to log in.
  [[nodiscard]] bool are_given() const { return password.is_given() || user != "default"; }
  /// Empty where nobody is to log in. \throws connection_error
  [[nodiscard]] std::optional<login_data> current() const {
    if (!are_given()) return std::nullopt;
    login_data now{user, password.current()};
    // A function may know of no password.
    if (now.password.empty() && user == "default") return std::nullopt;
    return now;
  }
};

/// The address of a server, and the credentials.
struct settings {
  server_address server{"127.0.0.1", "6379"};  // with Sentinels: where they say that the primary is
  credentials login;
  std::uint32_t database = 0;

  struct {
    std::vector<server_address> addresses;  // empty: the URL names the server itself
    std::string primary;                    // the name of what they monitor
    credentials login;
  } sentinel;

  /// Nodes of a cluster that are asked where the slots are; empty: the URL names no cluster.
  std::vector<server_address> cluster;

  /// Servers that know nothing of each other, a majority of which has to grant; empty: the URL names none.
  std::vector<server_address> quorum;
  std::chrono::milliseconds node_timeout{500};  // after so long one of them counts as silent

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

  [[nodiscard]] bool has_sentinels() const { return !sentinel.addresses.empty(); }
  [[nodiscard]] bool is_cluster() const { return !cluster.empty(); }
  [[nodiscard]] bool is_quorum() const { return !quorum.empty(); }
  /// As errors name it.
  [[nodiscard]] std::string place() const {
    return has_sentinels() ? "the primary '" + sentinel.primary + "'" : server.place();
  }
};

}  // namespace holdfast::redis
