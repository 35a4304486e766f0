#pragma once

#include <string_view>
#include <vector>

#include <holdfast/state.hpp>

namespace holdfast::cli {

/// What can happen to a claim, as far as two looks at the store can tell.
enum class happening {
  released,  ///< it held and holds no more: released, expired, or ended by force
  granted,
  gone,  ///< it waited and waits no more, and neither look saw it hold
  waiting,
};

[[nodiscard]] std::string_view to_string(happening kind) noexcept;

struct change {
  happening kind;
  claim_state claim;
};

/// In the order in which they can have happened: holds end before others begin. What was granted and
/// released between the two looks was in neither.
[[nodiscard]] std::vector<change> changes_between(const lock_state& before, const lock_state& after);

}  // namespace holdfast::cli
