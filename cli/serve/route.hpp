// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// What a path of `serve` names.
enum class endpoint : std::uint8_t {
  page,  ///< a file of the page, or nothing
  status,
  locks,
  lock,
  timeline,
  chain,  ///< of `why`
  deadlocks,
  doctor,
  events,
  ask,
  release,
  metrics,
  health,
  malformed,  ///< its escapes are wrong
};

struct route {
  endpoint to = endpoint::page;
  std::string name;       ///< of a lock, decoded; of the page: the path
  bool is_fresh = false;  ///< `?fresh=1`
};

/// \param target of a request, such as `/api/locks/a%2Fb` or `/api/locks/=..`, which has the name `..`.
[[nodiscard]] route route_of(std::string_view target);

}  // namespace holdfast::cli
