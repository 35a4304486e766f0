// SPDX-License-Identifier: Apache-2.0
#include "why/headlines.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "output/text.hpp"
#include "why/investigation.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

std::optional<std::string> pause_headline(const client& store, const std::vector<lock_summary>& locks) {
  const auto first = std::ranges::find_if(
      locks, [](const lock_summary& lock) { return lock.holders == 0 && lock.waiters != 0; });
  if (first == locks.end()) return std::nullopt;
  try {
    const auto lock = store.inspect(first->name, 0);
    if (lock && !lock->pause_reason.empty()) {
      // The end first: a terminal may be too narrow for the reason.
      return fmt::format("nothing is granted for {} more: {}", to_text(lock->paused_for),
                         printable(lock->pause_reason));
    }
  } catch (const error& problem) {
    // Whoever may write to the store can make a key there that is the name of no lock.
    if (problem.code() != errc::invalid_name) throw;
  }
  return std::nullopt;
}

/// A deadlock lasts until somebody ends it, who has to learn of it first.
std::vector<std::string> deadlock_headlines(const client& store, const std::vector<lock_summary>& locks) {
  constexpr std::size_t most_claims = 1024;  // to read for a line that nobody has asked for
  std::size_t claims = 0;
  for (const lock_summary& lock : locks)
    if (lock.holders != 0 && lock.waiters != 0) claims += lock.holders + lock.waiters;
  std::vector<std::string> lines;
  if (claims == 0 || claims > most_claims) return lines;
  for (const auto& each : investigate(store, {}, [](std::size_t, std::size_t) {}).deadlocks) {
    std::set<std::string> names;
    for (const party* member : each.members)
      for (const auto& held : member->holds) names.insert(printable(held.name));
    lines.push_back(
        fmt::format("deadlock among {}: 'holdfast why --all' says what ends it", fmt::join(names, ", ")));
  }
  return lines;
}

}  // namespace holdfast::cli
