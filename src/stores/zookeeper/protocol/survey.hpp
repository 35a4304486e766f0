#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/results.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/operation.hpp"

namespace holdfast::zookeeper {

/// One claim on a name, ours or a foreign one: one node, or those of its permits.
struct claimed {
  contender place;
  std::vector<std::string> nodes;  // paths
  status about;
  std::string data;
};

/// What the nodes of a name say of it: who holds and who waits, as every recipe decides it.
struct survey {
  bool ours = false;            // somebody used it with this library
  std::int64_t last_child = 0;  // the last coming or going of a claim
  std::int64_t capacity = 0;    // of a semaphore that has holders
  std::vector<claimed> holders;
  std::vector<claimed> waiters;
  std::size_t waiters_read = 0;  // so many of them, the first; the others have a place and no more
};

// Pure functions. Below, `base` is the path of a name.

/// What a survey begins with, all read at once: the name's node, who queues there, its leases, who queues for
/// these, and what their node says.
[[nodiscard]] std::vector<operation> reads_of(const std::string& base);
/// Who claims the name, by its children's names.
/// \param reads the results of `reads_of`, none of which is trouble.
[[nodiscard]] survey survey_of(layout style, const std::string& base, const std::vector<result>& reads);

/// The claims' own nodes: those of all holders and of so many waiters.
[[nodiscard]] std::vector<operation> claim_reads_of(const survey& name, std::size_t waiters);
/// Takes what they say. Claims that are gone by then are left out.
/// \param reads the results of `claim_reads_of` with the same `waiters`, none of which is trouble.
void fill(survey& name, std::size_t waiters, const std::vector<result>& reads);

/// By what it says, or, where others have written into it (as Curator's Revoker does), by its name.
[[nodiscard]] bool is_ours(const claimed& c);
[[nodiscard]] fencing_token token_of(const claimed& c);

/// As people are shown it.
/// \param most the time within which a holder is found dead, at most.
[[nodiscard]] lock_state state_of(const survey& all, const std::string& name, duration most);

}  // namespace holdfast::zookeeper
