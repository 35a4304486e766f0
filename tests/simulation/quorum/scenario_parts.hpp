#pragma once

#include "simulation/quorum/stage.hpp"

namespace holdfast::sim {

// Scenarios of other files than quorum_scenarios.cpp.

void clock_jumps_in_a_bare_majority(stage& on);
void majority_is_emptied_while_it_runs(stage& on);
void majority_is_restored_from_old_copies(stage& on);

void clients_name_other_servers(stage& on);
void shared_server_is_silent_to_clients_of_other_servers(stage& on);

}  // namespace holdfast::sim
