// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <holdfast/state.hpp>

namespace holdfast::cli {

/// The name of a lock, and how many wait for it.
/// \param most waiters that were read: as many may be more.
[[nodiscard]] std::string title_of(const lock_state& lock, std::size_t most);
/// Its holders, its notes and its queue, a line each.
/// \param room lines at most. The last one then says how many are left out.
[[nodiscard]] std::vector<std::string> lines_of(const lock_state& lock, std::size_t room);

}  // namespace holdfast::cli
