#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"

namespace holdfast::quorum {

/// What a majority of the servers says of a name. Pure functions.

/// \param views one for each server that has answered; empty: the name is not in use there.
/// \param majority so many servers have to name a claim as holder, else it waits.
[[nodiscard]] std::optional<lock_state> view_of(const std::string& name,
                                                const std::vector<std::optional<lock_state>>& views,
                                                std::size_t majority);

/// \param listings one for each server that has answered.
/// \param idle names as well that nobody holds or waits for.
[[nodiscard]] std::vector<lock_summary> view_of(const std::vector<std::vector<lock_summary>>& listings,
                                                std::size_t majority, bool idle);

}  // namespace holdfast::quorum
