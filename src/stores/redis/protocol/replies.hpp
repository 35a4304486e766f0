#pragma once

#include <exception>
#include <optional>
#include <string>

#include "core/request.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// Thrown where a script's answer has another shape than the script gives it.
class misunderstood : public std::exception {};

/// The result of a request's script as an outcome for the machines. Not for listings.
/// \throws misunderstood.
[[nodiscard]] tickets::link::outcome outcome_of(const tickets::request& request, const value& v);

/// The result of inspect.lua. Empty for a name that is not in use, and was not in use for `keep_idle`.
/// \throws misunderstood.
[[nodiscard]] std::optional<lock_state> state_of(std::string name, const value& v);

/// Whether the reply, or a part of it, is the error of a replica that refuses to write.
[[nodiscard]] bool is_from_replica(const value& reply);

}  // namespace holdfast::redis
