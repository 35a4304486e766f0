// SPDX-License-Identifier: Apache-2.0
#include "holdfast/statistics.hpp"

#include <numeric>

namespace holdfast {

std::uint64_t histogram::count() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t client_statistics::granted() const noexcept {
  return granted_exclusive + granted_shared + granted_permits;
}

std::uint64_t client_statistics::lost() const noexcept {
  return lost_ended_at_store + lost_not_renewed + lost_session_ended + lost_client_closed;
}

std::uint64_t client_statistics::held() const noexcept {
  // The counters are not read at one moment: a lease may have been granted and released between.
  const std::uint64_t ended = released + lost();
  return granted() > ended ? granted() - ended : 0;
}

}  // namespace holdfast
