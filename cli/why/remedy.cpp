// SPDX-License-Identifier: Apache-2.0
#include "why/remedy.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "output/shell.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

/// The claims of parties, by name and owner: they are the same in two graphs of the same locks.
using claim_set = std::set<std::pair<std::string, std::string>>;

claim_set claims_of(const std::vector<const party*>& members) {
  claim_set claims;
  for (const party* member : members) {
    for (const auto* list : {&member->holds, &member->waits})
      for (const claim_on& each : *list) claims.emplace(each.name, each.claim.owner);
  }
  return claims;
}

/// Those that can be ended by their token, of names that a member waits for, by age: the youngest first,
/// those of one age in the order of the members.
std::multimap<duration, const claim_on*> candidates_of(const std::vector<const party*>& members) {
  std::set<std::string> waited_for;
  for (const party* member : members)
    for (const claim_on& wait : member->waits) waited_for.insert(wait.name);
  std::multimap<duration, const claim_on*> candidates;
  for (const party* member : members) {
    for (const claim_on& hold : member->holds)
      if (hold.claim.token && waited_for.contains(hold.name)) candidates.emplace(hold.claim.age, &hold);
  }
  return candidates;
}

std::vector<lock_state> locks_without(const wait_graph& graph, const claim_on& hold) {
  auto locks = graph.locks();
  for (lock_state& lock : locks) {
    if (lock.name != hold.name) continue;
    std::erase_if(lock.holders, [&](const claim_state& each) { return each.owner == hold.claim.owner; });
  }
  return locks;
}

bool ends(const claim_on& hold, const wait_graph& graph, const claim_set& claims) {
  const wait_graph rest{locks_without(graph, hold)};
  return std::ranges::none_of(rest.deadlocks(), [&](const std::vector<const party*>& members) {
    return std::ranges::any_of(claims_of(members), [&](const auto& each) { return claims.contains(each); });
  });
}

}  // namespace

const claim_on* hold_to_end(const wait_graph& graph, const std::vector<const party*>& members,
                            std::size_t& attempts) {
  const auto claims = claims_of(members);
  for (const auto& [age, hold] : candidates_of(members)) {
    if (attempts == 0) break;
    --attempts;
    if (ends(*hold, graph, claims)) return hold;
  }
  return nullptr;
}

/// A name that begins with a dash would be an option, which the dashes before it prevent.
std::optional<std::string> release_command_of(const claim_on& hold, const std::string& options) {
  auto command = fmt::format("holdfast release --force --token {} {}-- {}", hold.claim.token.value(), options,
                             in_shell(hold.name));
  if (printable(command) != command) return std::nullopt;
  return command;
}

}  // namespace holdfast::cli
