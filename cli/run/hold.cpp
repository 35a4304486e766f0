// SPDX-License-Identifier: Apache-2.0
#include "run/hold.hpp"

#include <utility>

namespace holdfast::cli {

hold hold_of(const lease_set& held) {
  const auto request = [&held]() -> std::optional<release_request> {
    for (const lease& each : held.leases()) {
      if (auto reason = each.release_request()) return release_request{each.name(), std::move(*reason)};
    }
    return std::nullopt;
  };
  hold h{{},          [&held] { return held.deadline(); },
         held.lost(), held.release_requested(),
         request,     held.remaining()};
  for (const lease& each : held.leases()) h.tokens.emplace_back(each.name(), each.token().value());
  return h;
}

hold hold_of(const term& held) {
  return {{{held.name(), held.token().value()}},
          [&held] { return held.deadline(); },
          held.lost(),
          held.release_requested(),
          [&held]() -> std::optional<release_request> {
            auto reason = held.release_request();
            if (!reason) return std::nullopt;
            return release_request{held.name(), std::move(*reason)};
          },
          held.remaining()};
}

}  // namespace holdfast::cli
