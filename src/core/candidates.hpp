#pragma once

#include <optional>
#include <vector>

#include "holdfast/candidate.hpp"
#include "holdfast/state.hpp"

namespace holdfast {

// Pure functions that read an election in the state of its name. Readers, permits and mutexes of Holdfast are
// no candidates. A client of another library that holds the name exclusively is one: most have no other way
// to take part.

/// The leader; empty where nobody leads.
[[nodiscard]] std::optional<candidate> leader_in(const std::optional<lock_state>& of);

/// The leader, if there is one, and those who stand by, in the order in which they will lead.
[[nodiscard]] std::vector<candidate> candidates_in(const std::optional<lock_state>& of);

}  // namespace holdfast
