// SPDX-License-Identifier: Apache-2.0
#include "commands/watch_changes.hpp"

#include <algorithm>

namespace holdfast::cli {

namespace {

bool among(const std::vector<claim_state>& claims, const claim_state& sought) {
  return std::ranges::find(claims, sought.owner, &claim_state::owner) != claims.end();
}

}  // namespace

std::string_view to_string(happening kind) noexcept {
  switch (kind) {
    case happening::released: return "released";
    case happening::granted: return "granted";
    case happening::gone: return "gone";
    case happening::waiting: return "waiting";
  }
  return "";
}

std::vector<change> changes_between(const lock_state& before, const lock_state& after) {
  std::vector<change> changes;
  for (const auto& claim : before.holders) {
    if (!among(after.holders, claim)) changes.push_back({happening::released, claim});
  }
  for (const auto& claim : before.waiters) {
    const bool served = among(after.holders, claim);
    if (!served && !among(after.waiters, claim)) changes.push_back({happening::gone, claim});
  }
  for (const auto& claim : after.holders) {
    if (!among(before.holders, claim)) changes.push_back({happening::granted, claim});
  }
  for (const auto& claim : after.waiters) {
    if (!among(before.waiters, claim)) changes.push_back({happening::waiting, claim});
  }
  return changes;
}

}  // namespace holdfast::cli
