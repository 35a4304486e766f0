#pragma once

#include <optional>
#include <vector>

#include "holdfast/candidate.hpp"
#include "holdfast/state.hpp"

namespace holdfast {

// Pure functions that read an election in the state of its name. Readers, permits and mutexes of Holdfast are
// no candidates. On ZooKeeper an exclusive claim of another library is one: nodes of Curator's LeaderLatch
// and kazoo's Election take part. On the other stores it is a lock.

/// The leader; empty where nobody leads.
[[nodiscard]] std::optional<candidate> leader_in(const std::optional<lock_state>& of);

/// The leader, if there is one, and those who stand by, in the order in which they will lead.
[[nodiscard]] std::vector<candidate> candidates_in(const std::optional<lock_state>& of);

}  // namespace holdfast
