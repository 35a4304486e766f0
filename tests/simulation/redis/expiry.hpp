#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "simulation/redis/command.hpp"

namespace holdfast::sim {

/// What the four ways of saying "until then" come to.
struct expiry_unit {
  std::int64_t milliseconds;
  bool from_now;
};
inline constexpr expiry_unit seconds_from_now{1000, true};
inline constexpr expiry_unit milliseconds_from_now{1, true};
inline constexpr expiry_unit seconds_of_clock{1000, false};
inline constexpr expiry_unit milliseconds_of_clock{1, false};

/// Milliseconds of the server's clock; empty, and an error for reply, if that is no time.
/// \param positive as SET wants it, where EXPIRE does not.
std::optional<std::int64_t> expiry_in(call& c, std::string_view text, expiry_unit unit, bool positive);

}  // namespace holdfast::sim
