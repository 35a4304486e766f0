// SPDX-License-Identifier: Apache-2.0
// Clients that name different servers. Two of them have a majority each of what they name, and share one
// server.

#include <chrono>
#include <optional>

#include "simulation/quorum/scenario_parts.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

/// The server that both name tells the second client which ones its clients name.
void clients_name_other_servers(stage& on) {
  actor& first = on.enter({0, 1, 2});
  require_grant(on, first, 3s, 1s);  // it tells the servers their set before
  actor& second = on.enter({2, 3, 4});
  second.lock(3s);
  on.run(500ms);
  on.require(second.is_answered() && !second.holds(), "a client that names other servers is not refused");
  first.release();
  on.run(100ms);
  second.lock(3s);
  on.run(500ms);
  on.require(second.is_answered() && !second.holds(), "it is refused only while the lock is held");
}

/// A server that does not answer can refuse nobody, and the first claim does not wait for it.
void shared_server_is_silent_to_clients_of_other_servers(stage& on) {
  actor& first = on.enter({0, 1, 2});
  require_grant(on, first, 3s, 1s);  // it tells the servers their set before
  on.server(2).at.stop_until(on.in.now + 3s);
  actor& second = on.enter({2, 3, 4});
  on.counts.broken(std::nullopt);
  second.lock(1500ms);
  on.run(800ms);
  on.require(first.holds() && second.holds() && on.sees.excused() != 0,
             "a client waits for the only server that its set shares with another");
  second.release();
  on.run(4s);
  second.lock(1500ms);
  on.run(500ms);
  on.require(second.is_answered() && !second.holds(), "a server that answers late does not refuse a client");
  on.require(first.holds(), "a client that is refused ends a hold");
}

}  // namespace holdfast::sim
