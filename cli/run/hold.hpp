// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/boot_clock.hpp>
#include <holdfast/lease_set.hpp>
#include <holdfast/term.hpp>

namespace holdfast::cli {

/// Somebody asks for the release of a name.
struct release_request {
  std::string name;
  std::string reason;
};

/// What a command runs under: leases, or the term of a leader, which must outlive it.
struct hold {
  std::vector<std::pair<std::string, std::uint64_t>> tokens;  ///< of each name
  std::function<boot_clock::time_point()> deadline;           ///< the earliest
  std::stop_token lost;
  std::stop_token release_requested;
  std::function<std::optional<release_request>()> request;  ///< of the first name that was asked for
  duration remaining;
};

[[nodiscard]] hold hold_of(const lease_set& held);
[[nodiscard]] hold hold_of(const term& held);

}  // namespace holdfast::cli
