// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "simulation/quorum/stage.hpp"

namespace holdfast::sim {

/// The client asks for the lock, which is granted within that time.
inline void require_grant(stage& on, actor& to, duration ttl,
                          duration within = std::chrono::milliseconds{100},
                          const std::string& otherwise = "a free lock is not granted") {
  to.lock(ttl);
  on.run(within);
  on.require(to.holds(), otherwise);
}

/// The client has held, so that it knows the servers' time, and the lock is free.
inline void hold_once(stage& on, actor& client) {
  require_grant(on, client, std::chrono::seconds{3});
  client.release();
  on.run(std::chrono::milliseconds{100});
}

// Scenarios of other files than quorum_scenarios.cpp.

void clock_jumps_in_a_bare_majority(stage& on);
void majority_is_emptied_while_it_runs(stage& on);
void majority_is_restored_from_old_copies(stage& on);

void former_claim_is_withdrawn_late(stage& on);
void former_claim_is_ended_by_force_late(stage& on);
void former_hold_is_in_the_way_of_none(stage& on);
void next_in_line_is_told(stage& on);

void clients_name_other_servers(stage& on);
void shared_server_is_silent_to_clients_of_other_servers(stage& on);

}  // namespace holdfast::sim
