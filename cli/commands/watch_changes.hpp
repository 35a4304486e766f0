// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <holdfast/state.hpp>

namespace holdfast::cli {

/// The changes of a claim between two looks at the store.
enum class happening {
  released,  ///< it held before: released, expired, or ended by force
  granted,
  gone,  ///< it waited before, and neither look saw it hold
  waiting,
};

[[nodiscard]] std::string_view to_string(happening kind) noexcept;

struct change {
  happening kind;
  claim_state claim;
};

/// In a possible order: holds end before others begin. A hold that was granted and released between two looks
/// is in neither.
[[nodiscard]] std::vector<change> changes_between(const lock_state& before, const lock_state& after);

}  // namespace holdfast::cli
