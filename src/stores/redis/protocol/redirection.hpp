#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// The answer of a server of a cluster to a request for another one. It has not carried the request out.
struct redirection {
  bool for_good = false;  // MOVED; or ASK: for this request, since the slot is on its way
  std::uint16_t slot = 0;
  server_address to;  // without a host where it is the one that was asked
};

/// Empty for any other error.
[[nodiscard]] std::optional<redirection> redirection_in(std::string_view error);

}  // namespace holdfast::redis
