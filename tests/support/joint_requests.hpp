// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "core/request.hpp"

namespace holdfast::test {

[[nodiscard]] inline bool is_joint(const tickets::request& r) {
  return std::holds_alternative<tickets::acquire_all>(r) || std::holds_alternative<tickets::release_all>(r);
}

/// One request of several claims, or of several releases.
[[nodiscard]] inline tickets::request joint(const std::vector<tickets::request>& parts) {
  tickets::acquire_all claims;
  tickets::release_all ends;
  for (const tickets::request& each : parts) {
    if (const auto* const made = std::get_if<tickets::acquire>(&each)) {
      claims.claims.push_back(made->claim);
    } else {
      ends.holds.push_back(std::get<tickets::release>(each));
    }
  }
  if (claims.claims.empty()) return ends;
  return claims;
}

/// The requests that a joint one consists of, in its order; empty if it is none.
[[nodiscard]] inline std::vector<tickets::request> parts_of(const tickets::request& joint) {
  std::vector<tickets::request> parts;
  if (const auto* const all = std::get_if<tickets::acquire_all>(&joint)) {
    for (const store::claim_ptr& each : all->claims) parts.emplace_back(tickets::acquire{each});
  } else if (const auto* const ended = std::get_if<tickets::release_all>(&joint)) {
    for (const store::hold& each : ended->holds) parts.emplace_back(tickets::release{each});
  }
  return parts;
}

/// Carries out a joint request one part after another, as the routines and scripts of the stores do, by a
/// function of a part that returns its reply.
template <class CarryOut>
[[nodiscard]] tickets::several one_by_one(const tickets::request& joint, const CarryOut& carry_out) {
  tickets::several answers;
  for (const tickets::request& part : parts_of(joint)) {
    if (!append(answers, carry_out(part))) break;
  }
  return answers;
}

}  // namespace holdfast::test
