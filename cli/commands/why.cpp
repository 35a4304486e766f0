#include "commands/why.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <set>
#include <vector>

#include "exit_status.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "why/wait_graph.hpp"

namespace holdfast::cli {

namespace {

/// On ZooKeeper each waiter costs a read.
constexpr std::size_t most_waiters = 1000;

/// \param requested_name the name that the user gave; the others are of a listing.
std::vector<lock_state> inspected(const client& locks, const std::set<std::string>& names,
                                  const std::string& requested_name) {
  status_line progress;
  std::vector<lock_state> states;
  for (const auto& name : names) {
    if (states.size() % 16 == 0)
      progress.show(fmt::format("reading the queues: {} of {} locks", states.size(), names.size()));
    try {
      if (auto state = locks.inspect(name, most_waiters)) states.push_back(*std::move(state));
    } catch (const error& cause) {
      // Whoever may write to the store can make a key there that is the name of no lock.
      if (cause.code() != errc::invalid_name || name == requested_name) throw;
    }
  }
  return states;
}

using deadlock = std::vector<const party*>;

/// What was found in a store. The deadlocks point into the confirmed graph.
struct findings {
  wait_graph graph;      // of all queues
  wait_graph confirmed;  // of what stood in two observations
  std::vector<deadlock> deadlocks;
};

std::set<std::string> names_in(const std::vector<deadlock>& deadlocks) {
  std::set<std::string> names;
  for (const auto& each : deadlocks) {
    for (const party* member : each) {
      for (const auto& claim : member->holds) names.insert(claim.name);
      for (const auto& claim : member->waits) names.insert(claim.name);
    }
  }
  return names;
}

/// \param name one whose holders are wanted although nobody waits; or empty.
findings look(const client& locks, const std::string& name) {
  std::set<std::string> names;
  if (!name.empty()) names.insert(name);
  for (const auto& lock : locks.list()) {
    if (lock.waiters != 0) names.insert(lock.name);
  }
  wait_graph graph{inspected(locks, names, name)};
  const auto suspected = names_in(graph.deadlocks());
  wait_graph confirmed{suspected.empty() ? std::vector<lock_state>{}
                                         : in_both(graph.locks(), inspected(locks, suspected, {}))};
  findings result{.graph = std::move(graph), .confirmed = std::move(confirmed), .deadlocks = {}};
  result.deadlocks = result.confirmed.deadlocks();
  return result;
}

/// The name, and the names that its holders wait for, and so on: each once.
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

void print_holder(const wait_graph& graph, const claim_state& holder) {
  const auto token = holder.token ? fmt::format(", token {}", holder.token.value()) : std::string{};
  fmt::print("  held by {} for {}{}\n", to_text(holder.claimant), to_text(holder.age), token);
  if (holder.claimant.released) {
    fmt::print("    which has released it: it rests for {}\n", to_text(holder.expires_in));
  }
  const party& process = graph.party_of(holder);
  const auto waits = graph.all_waits(process);
  if (waits.empty()) fmt::print("    which waits for no lock\n");
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const claim_on& wait = waits[i];
    const auto subject = i < process.waits.size() ? "which" : "whose command " + to_text(wait.claim.claimant);
    fmt::print("    {} has waited for {} for {}, at place {} of its queue\n", subject, printable(wait.name),
               to_text(wait.claim.age), wait.place);
  }
}

void print_free(const std::string& name, const palette& colours) {
  fmt::print("{}: free\n", colours.bold(printable(name)));
}

void print_lock(const wait_graph& graph, const lock_state& lock, const palette& colours) {
  const auto waiting = lock.waiters.size();
  if (lock.holders.empty() && waiting == 0 && lock.pause_reason.empty())
    return print_free(lock.name, colours);
  fmt::print("{}: {}{} waiting\n", colours.bold(printable(lock.name)),
             waiting == most_waiters ? "at least " : "", waiting);
  if (lock.holders.empty()) {
    fmt::print("  {}\n",
               lock.pause_reason.empty() ? "held by nobody" : "held by nobody that the store knows");
  }
  if (!lock.pause_reason.empty()) fmt::print("  nothing is granted now: {}\n", printable(lock.pause_reason));
  for (const auto& holder : lock.holders) print_holder(graph, holder);
  for (const auto& note : lock.notes) fmt::print("  note: {}\n", to_text(note));
}

std::string names_of(const std::vector<claim_on>& claims) {
  std::string text;
  for (const auto& claim : claims) {
    if (!text.empty()) text += ", ";
    text += printable(claim.name);
  }
  return text;
}

/// What it holds, waits for and runs.
std::string account_of(const wait_graph& graph, const party& process) {
  std::vector<std::string> parts;
  if (!process.holds.empty()) parts.push_back("holds " + names_of(process.holds));
  if (!process.waits.empty()) parts.push_back("waits for " + names_of(process.waits));
  for (const auto command : process.commands) {
    parts.push_back(fmt::format("runs the process {}", graph.at(command).process.pid));
  }
  return fmt::format("{}: {}", to_text(process.process), fmt::join(parts, ", "));
}

/// A name as an argument of a shell's command line.
std::string in_shell(const std::string& name) {
  std::string quoted = "'";
  for (const char each : printable(name)) quoted += each == '\'' ? std::string{"'\\''"} : std::string{each};
  return quoted + "'";
}

/// Of those that can be ended by their token: the hold that was granted last has done the least.
const claim_on* youngest_hold(const deadlock& members) {
  const claim_on* youngest = nullptr;
  for (const party* member : members) {
    for (const auto& hold : member->holds) {
      if (hold.claim.token && (youngest == nullptr || hold.claim.age < youngest->claim.age)) youngest = &hold;
    }
  }
  return youngest;
}

void print_deadlock(const wait_graph& graph, const deadlock& members, const palette& colours) {
  fmt::print("{} of {} processes:\n", colours.red("deadlock"), members.size());
  for (const party* member : members) fmt::print("  {}\n", account_of(graph, *member));
  if (const auto* const hold = youngest_hold(members)) {
    fmt::print(
        "  End one of them. Or take the hold that was granted last, whose process then acts without it:\n"
        "  holdfast release --force --token {} {}\n",
        hold->claim.token.value(), in_shell(hold->name));
  } else {
    fmt::print("  End one of them.\n");
  }
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

json describe_deadlocks(const findings& found) {
  json list = json::array();
  for (const auto& each : found.deadlocks) {
    json members = json::array();
    for (const party* member : each) {
      json runs = json::array();
      for (const auto command : member->commands) runs.push_back(found.confirmed.at(command).process.pid);
      members.push_back({{"host", member->process.host},
                         {"pid", member->process.pid},
                         {"program", member->process.program},
                         {"holds", describe_claims(member->holds)},
                         {"waits_for", describe_claims(member->waits)},
                         {"runs", runs}});
    }
    list.push_back(members);
  }
  return list;
}

json describe_chain(const wait_graph& graph, const std::vector<const lock_state*>& chain) {
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

int status_of(const std::vector<deadlock>& deadlocks) { return deadlocks.empty() ? success : deadlocked; }

void print_deadlocks(const findings& found) {
  const palette colours{stdout};
  for (const auto& each : found.deadlocks) {
    if (&each != &found.deadlocks.front()) fmt::print("\n");
    print_deadlock(found.confirmed, each, colours);
  }
}

int explain(const why_command& request, const findings& found) {
  const auto chain = chain_from(found.graph, request.name);
  const palette colours{stdout};
  if (request.store.json) {
    print_line({{"name", request.name},
                {"chain", describe_chain(found.graph, chain)},
                {"deadlocks", describe_deadlocks(found)}});
    return status_of(found.deadlocks);
  }
  if (chain.empty()) print_free(request.name, colours);
  for (const auto* lock : chain) print_lock(found.graph, *lock, colours);
  if (!found.deadlocks.empty()) fmt::print("\n");
  print_deadlocks(found);
  return status_of(found.deadlocks);
}

int list_deadlocks(const why_command& request, const findings& found) {
  if (request.store.json) {
    print_line({{"queues", found.graph.locks().size()}, {"deadlocks", describe_deadlocks(found)}});
  } else if (found.deadlocks.empty()) {
    fmt::print("no deadlock among the {} locks that are waited for\n", found.graph.locks().size());
  } else {
    print_deadlocks(found);
  }
  return status_of(found.deadlocks);
}

/// Of a name, the deadlocks that it leads to; the others are of no use to whoever asks for it.
void keep_those_reached(findings& found, const std::string& name) {
  std::set<std::string> reached;
  for (const auto* lock : chain_from(found.graph, name)) reached.insert(lock->name);
  std::erase_if(found.deadlocks, [&](const deadlock& each) {
    const auto names = names_in({each});
    return std::none_of(names.begin(), names.end(), [&](const auto& one) { return reached.contains(one); });
  });
}

}  // namespace

int perform(const why_command& request) {
  if (request.all != request.name.empty()) {
    throw failure{bad_usage, "give the name of a lock, or --all. Try 'holdfast why --help'"};
  }
  auto found = look(open_client(request.store), request.name);
  if (request.all) return list_deadlocks(request, found);
  keep_those_reached(found, request.name);
  return explain(request, found);
}

}  // namespace holdfast::cli
