// SPDX-License-Identifier: Apache-2.0
#include "core/summary.hpp"

namespace holdfast::store {

lock_summary summary_of(const lock_state& state) {
  lock_summary line;
  line.name = state.name;
  line.mode = state.capacity != 0 ? mode::permits : mode::exclusive;
  line.capacity = state.capacity;
  line.holders = state.holders.size();
  line.waiters = state.waiters.size();
  line.last_token = state.last_token;
  if (state.holders.empty()) return line;
  const claim_state& oldest = state.holders.front();
  line.mode = oldest.mode;
  line.held_for = oldest.age;
  line.holder_token = oldest.token;
  line.holder = oldest.claimant;
  return line;
}

}  // namespace holdfast::store
