// SPDX-License-Identifier: Apache-2.0
#include "why/investigation.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <set>
#include <utility>

#include "why/remedy.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// Of all deadlocks. A deployment whose jobs lock each other in pairs may have thousands of them.
constexpr std::size_t most_remedies_tried = 200;

/// \param requested_name the name that the user gave; the others are of a listing.
std::vector<lock_state> inspected(const client& locks, const std::set<std::string>& names,
                                  const std::string& requested_name, const reading_progress& progress) {
  std::vector<lock_state> states;
  for (const auto& name : names) {
    if (states.size() % 16 == 0) progress(states.size(), names.size());
    try {
      if (auto state = locks.inspect(name, most_waiters_read)) states.push_back(*std::move(state));
    } catch (const error& cause) {
      // Whoever may write to the store can make a key there that is the name of no lock.
      if (cause.code() != errc::invalid_name || name == requested_name) throw;
    }
  }
  return states;
}

std::set<std::string> names_of(const std::vector<const party*>& members) {
  std::set<std::string> names;
  for (const party* member : members) {
    for (const auto& claim : member->holds) names.insert(claim.name);
    for (const auto& claim : member->waits) names.insert(claim.name);
  }
  return names;
}

json describe_claims(const std::vector<claim_on>& claims) {
  json list = json::array();
  for (const auto& each : claims) {
    json object{{"name", each.name}};
    if (each.place != 0) object["place"] = each.place;
    object.update(describe(each.claim));
    list.push_back(object);
  }
  return list;
}

/// The one whose end ends the deadlock says so, with the command.
json describe_holds(const std::vector<claim_on>& holds, const claim_on* to_end, const std::string& options) {
  json list = describe_claims(holds);
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (&holds[i] != to_end) continue;
    const auto command = release_command_of(holds[i], options);
    list[i]["ends_deadlock"] = true;
    list[i]["release_command"] = command ? json(*command) : json(nullptr);
  }
  return list;
}

json deadlocks_of(const investigation& found) {
  json list = json::array();
  for (const auto& each : found.deadlocks) {
    json members = json::array();
    for (const party* member : each.members) {
      json runs = json::array();
      for (const auto command : member->commands) runs.push_back(found.confirmed->at(command).process.pid);
      json object = describe_process(member->process);
      object["holds"] = describe_holds(member->holds, each.hold_to_end, found.store_options);
      object["waits_for"] = describe_claims(member->waits);
      object["runs"] = runs;
      members.push_back(object);
    }
    list.push_back(members);
  }
  return list;
}

json chain_of(const wait_graph& graph, const std::vector<const lock_state*>& chain) {
  json list = json::array();
  for (const auto* lock : chain) {
    json object = describe(*lock);
    object["waiters"] = lock->waiters.size();
    for (std::size_t i = 0; i < lock->holders.size(); ++i) {
      object["holders"][i]["waits_for"] = describe_claims(graph.all_waits(graph.party_of(lock->holders[i])));
    }
    list.push_back(object);
  }
  return list;
}

}  // namespace

investigation investigate(const client& locks, const std::string& name, const reading_progress& progress) {
  std::set<std::string> names;
  if (!name.empty()) names.insert(name);
  for (const auto& lock : locks.list()) {
    if (lock.waiters != 0) names.insert(lock.name);
  }
  investigation result;
  result.graph = std::make_shared<const wait_graph>(inspected(locks, names, name, progress));
  std::set<std::string> suspected;
  for (const auto& members : result.graph->deadlocks()) suspected.merge(names_of(members));
  result.confirmed = std::make_shared<const wait_graph>(
      suspected.empty() ? std::vector<lock_state>{}
                        : in_both(result.graph->locks(), inspected(locks, suspected, {}, progress)));
  std::size_t attempts = most_remedies_tried;
  for (auto& members : result.confirmed->deadlocks()) {
    const auto* const to_end = hold_to_end(*result.confirmed, members, attempts);
    result.deadlocks.push_back({std::move(members), to_end});
  }
  return result;
}

void include_name(investigation& found, const client& locks, const std::string& name) {
  if (found.graph->find(name) != nullptr) return;
  auto state = locks.inspect(name, most_waiters_read);
  if (!state) return;
  auto states = found.graph->locks();
  states.push_back(*std::move(state));
  found.graph = std::make_shared<const wait_graph>(std::move(states));
}

std::vector<const lock_state*> chain_from(const wait_graph& graph, const std::string& name) {
  std::vector<const lock_state*> chain;
  std::set<std::string> seen{name};
  std::deque<std::string> next{name};
  while (!next.empty()) {
    const lock_state* lock = graph.find(next.front());
    next.pop_front();
    if (lock == nullptr) continue;
    chain.push_back(lock);
    for (const auto& holder : lock->holders) {
      for (const auto& wait : graph.all_waits(graph.party_of(holder))) {
        if (seen.insert(wait.name).second) next.push_back(wait.name);
      }
    }
  }
  return chain;
}

void keep_those_reached(investigation& found, const std::string& name) {
  std::set<std::string> reached;
  for (const auto* lock : chain_from(*found.graph, name)) reached.insert(lock->name);
  std::erase_if(found.deadlocks, [&](const deadlock& each) {
    const auto names = names_of(each.members);
    return std::none_of(names.begin(), names.end(), [&](const auto& one) { return reached.contains(one); });
  });
}

json describe_chain(const investigation& found, const std::string& name) {
  return {{"name", name},
          {"chain", chain_of(*found.graph, chain_from(*found.graph, name))},
          {"deadlocks", deadlocks_of(found)}};
}

json describe_deadlocks(const investigation& found) {
  return {{"queues", found.graph->locks().size()}, {"deadlocks", deadlocks_of(found)}};
}

}  // namespace holdfast::cli
