#pragma once

#include <optional>
#include <string>

#include "core/request.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// Thrown where a script's answer has another shape than the script gives it.
struct misunderstood {};

/// What the script of a request returned, as the machines understand it. Not for listings.
/// \throws misunderstood.
[[nodiscard]] tickets::link::outcome outcome_of(const tickets::request& asked, const value& v);

/// What inspect.lua returned. Empty for a name that nobody uses or has used of late.
/// \throws misunderstood.
[[nodiscard]] std::optional<lock_state> state_of(std::string name, const value& v);

/// A line of a listing.
[[nodiscard]] lock_summary summary_of(const lock_state& state);

}  // namespace holdfast::redis
