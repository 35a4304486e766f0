// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/state.hpp"

namespace holdfast::store {

/// The line of a listing for a name whose state is known.
[[nodiscard]] lock_summary summary_of(const lock_state& state);

}  // namespace holdfast::store
