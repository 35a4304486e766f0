#pragma once

#include <vector>

#include "stores/redis/link/settings.hpp"
#include "stores/redis/protocol/server_facts.hpp"

namespace holdfast::redis {

/// Holds what the servers of a set have said to the conditions of docs/stores/redlock.md that concern more
/// than one of them. \param of those that answered, one at least.
[[nodiscard]] std::vector<finding> findings_of_set(const settings& in, const std::vector<server_facts>& of);

}  // namespace holdfast::redis
