// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include "faults/faults.hpp"
#include "support/zookeeper_console.hpp"
#include "support/zookeeper_server.hpp"

namespace holdfast::faults {

using test::zookeeper_console;
using test::zookeeper_server;

/// A client whose sessions, and leases, end so soon.
inline client_options living(duration ttl) { return client_options{}.locks(lock_options{}.ttl(ttl)); }

/// A server, an operator who looks behind it, and the lock "stock".
class on_zookeeper : public testing::Test {
 protected:
  explicit on_zookeeper(zookeeper_server::settings settings = {}) : server_{std::move(settings)} {}

  /// Until so many nodes stand in the lock's queue, in their order.
  std::vector<std::string> expect_contenders(std::size_t count) {
    std::vector<std::string> all;
    await([&] { return (all = console_.children("/stock")).size() == count; },
          "so many do not come to stand there");
    return all;
  }
  /// As if the session of the node's maker had expired at the servers.
  void end_session_of(const std::string& node) {
    zookeeper_console::end_session(server_.port(), console_.get("/stock/" + node).session);
  }

  zookeeper_server server_;
  zookeeper_console console_{server_.port()};
};

}  // namespace holdfast::faults
