// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "core/link.hpp"
#include "core/request.hpp"
#include "stores/quorum/protocol/ballots.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

/// Thrown where a script's answer has another shape than the script gives it.
class misunderstood : public std::exception {};

/// The result of a request's script as an outcome for the machines. Not for inspections and listings.
/// \throws misunderstood.
[[nodiscard]] tickets::link::outcome outcome_of(const ballots::request& request, const value& v);

/// Where inspect.lua reads on in a set.
struct claim_cursor {
  std::string score = "0";  // of the claim with which to begin; empty: all is read
  std::int64_t passed = 0;  // claims of that score

  [[nodiscard]] bool is_end() const { return score.empty(); }
};

/// The result of inspect.lua: a name, or a part of its claims.
struct inspected_part {
  /// Empty for a name that is not in use, and was not in use for `keep_idle`.
  std::optional<lock_state> state;
  std::chrono::milliseconds now{};  // by the server's clock
  std::uint64_t waiters = 0;        // in all
  std::uint64_t holders = 0;        // likewise
  int alone = 0;                    // the first so many of the holders hold alone, and come with each part
  claim_cursor next_waiter;
  claim_cursor next_holder;
};
/// \throws misunderstood.
[[nodiscard]] inspected_part part_of(std::string name, const value& v);

/// Whether the reply, or a part of it, is the error of a replica that refuses to write.
[[nodiscard]] bool is_from_replica(const value& reply);

}  // namespace holdfast::redis
