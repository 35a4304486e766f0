#pragma once

#include <chrono>
#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/redis/link/settings.hpp"

namespace holdfast::redis {

/// Asks the servers of a URL about themselves, over connections of its own. Blocks.
/// \param longest_ttl in use, with its grace.
/// \throws connection_error where no server is left that could grant anything; holdfast::error for
/// certificates that cannot be read.
[[nodiscard]] std::vector<finding> diagnose(const settings& of, std::chrono::nanoseconds longest_ttl);

}  // namespace holdfast::redis
