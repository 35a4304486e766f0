// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::sim {

// What goes over a connection to a server of ZooKeeper.

/// The first packet: who it is, and what it has seen.
struct hello {
  std::int64_t session = 0;  // zero: a new one
  duration timeout{};        // asked for
  std::int64_t last_seen = 0;
};
/// What its client still watches, and has seen the state of; likewise in one packet.
struct watches_again {
  std::vector<std::string> nodes;
  std::vector<std::string> lists;
  std::int64_t last_seen = 0;
};
/// Nothing was sent for a while.
struct still_there {};
using client_packet = std::variant<hello, watches_again, zookeeper::operation, still_there>;

struct welcome {
  std::int64_t session = 0;
  duration timeout{};
};
struct session_is_over {};
struct pong {};
struct happening {
  std::string path;
  zookeeper::change event{};
};
struct server_packet {
  std::variant<welcome, session_is_over, zookeeper::result, happening, pong> content;
  std::int64_t last = 0;  // the last change that the server knows of
};

}  // namespace holdfast::sim
