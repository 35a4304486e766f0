#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/state.hpp"

namespace holdfast {

/// Who has arrived at a latch or a barrier, as the store had it when it was asked. The clients that arrive
/// choose the text about their processes, so never trust it.
struct arrivals {
  std::uint64_t phase = 0;        ///< of a barrier, counted from zero; zero for a latch
  std::ptrdiff_t expected = 0;    ///< how many have to arrive
  std::ptrdiff_t arrived = 0;     ///< how many have; of a latch the sum of their counts
  std::vector<claimant> parties;  ///< the processes that have arrived, first come first; empty once a phase
                                  ///< of a barrier has been passed

  /// Whether nobody is missing: the latch is open, or all parties have arrived at the phase.
  [[nodiscard]] bool is_complete() const noexcept { return arrived >= expected; }
};

}  // namespace holdfast
