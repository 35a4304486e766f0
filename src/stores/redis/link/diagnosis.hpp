#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "stores/redis/link/questions.hpp"
#include "stores/redis/link/settings.hpp"

namespace holdfast::redis {

/// Asks the servers of a URL about themselves, over connections of its own. Blocks.
/// \param longest_ttl in use, with its grace.
/// \throws connection_error if no server is left that could grant anything; holdfast::error for certificates
/// that cannot be read.
[[nodiscard]] std::vector<finding> diagnose(const settings& of, std::chrono::nanoseconds longest_ttl);

/// What the Sentinels say of a primary together, for `primary_conditions`.
[[nodiscard]] doctor::facts conclude(const std::vector<sentinel_answers>& all, const settings& in);
/// The primary that most of them name; empty: none names one.
[[nodiscard]] std::optional<server_address> named_by_most(const std::vector<sentinel_answers>& all);

/// Holds what the servers of a set have said to the conditions that concern more than one of them.
/// \param answers of those that answered, one at least.
[[nodiscard]] std::vector<finding> findings_of_set(const settings& in,
                                                   const std::vector<server_answers>& answers);

}  // namespace holdfast::redis
