// SPDX-License-Identifier: Apache-2.0
#include "faults/servers/servers.hpp"

namespace holdfast::faults {

std::vector<server_kind>& server_kinds() {
  static std::vector<server_kind> kinds;  // here, because files register before main() in any order
  return kinds;
}

std::vector<database_kind>& database_kinds() {
  static std::vector<database_kind> kinds;
  return kinds;
}

test_on::test_on(const server_kind& kind) { server_kinds().push_back(kind); }

test_on::test_on(const database_kind& kind) {
  database_kinds().push_back(kind);
  server_kinds().push_back({.name = kind.name,
                            .connections = kind.connections,
                            .keeps_sessions = kind.keeps_sessions,
                            .has_clock = kind.has_clock,
                            .can_start_empty = kind.can_start_empty,
                            .some_clients = kind.some_clients,
                            .many_clients = kind.many_clients,
                            .start = kind.start});
}

}  // namespace holdfast::faults
