// SPDX-License-Identifier: Apache-2.0
#include "commands/why.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "exit_status.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/shell.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "why/investigation.hpp"
#include "why/remedy.hpp"

namespace holdfast::cli {

namespace {

void print_holder(const wait_graph& graph, const claim_state& holder) {
  if (!holder.token) {
    fmt::print("  held by {}; {}\n", to_text(holder.claimant),
               has_end(holder) ? "it expires in " + to_text(holder.expires_in) : "it does not expire");
    return;  // what it waits for is not known
  }
  if (holder.claimant.released) {  // what its process waits for holds up nobody
    fmt::print("  released by {}, token {}; it rests for {}\n", to_text(holder.claimant),
               holder.token.value(), to_text(holder.expires_in));
    return;
  }
  fmt::print("  held by {} for {}, token {}\n", to_text(holder.claimant), to_text(holder.age),
             holder.token.value());
  const party& process = graph.party_of(holder);
  const auto waits = graph.all_waits(process);
  const bool is_known = !is_of_another_library(holder.claimant);
  if (waits.empty() && is_known) fmt::print("    which waits for no lock of this store\n");
  constexpr std::size_t most_shown = 10;  // a pool of workers in one process waits for many
  for (std::size_t i = 0; i < std::min(waits.size(), most_shown); ++i) {
    const claim_on& wait = waits[i];
    const auto subject = i < process.waits.size() ? "which" : "whose command " + to_text(wait.claim.claimant);
    fmt::print("    {} has waited for {} for {}, at place {} of its queue\n", subject, printable(wait.name),
               to_text(wait.claim.age), wait.place);
  }
  if (waits.size() > most_shown) fmt::print("    and {} waits more\n", waits.size() - most_shown);
}

void print_free(const why_command& request, const std::string& name, const palette& colours) {
  fmt::print("{}: free{}\n", colours.bold(printable(name)), note_of_default(request.store));
}

void print_lock(const why_command& request, const wait_graph& graph, const lock_state& lock,
                const palette& colours) {
  const auto waiting = lock.waiters.size();
  if (lock.holders.empty() && waiting == 0 && lock.pause_reason.empty())
    return print_free(request, lock.name, colours);
  fmt::print("{}: {}{} waiting\n", colours.bold(printable(lock.name)),
             waiting == most_waiters_read ? "at least " : "", waiting);
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

void print_advice(const claim_on* hold, const std::string& options) {
  if (hold == nullptr) {
    fmt::print("  End one of these processes.\n");
    return;
  }
  fmt::print("  End one of these processes. Or take a lock away from one; it then goes on without the lock");
  if (const auto command = release_command_of(*hold, options)) {
    fmt::print(":\n  {}\n", *command);
  } else {
    fmt::print(
        ": that of {}, token {}.\n"
        "  No command for it can be pasted, because the name or the store has characters that do not show.\n",
        printable(hold->name), hold->claim.token.value());
  }
}

void print_deadlock(const investigation& found, const deadlock& one, const palette& colours) {
  fmt::print("{} of {} processes:\n", colours.red("deadlock"), one.members.size());
  for (const party* member : one.members) fmt::print("  {}\n", account_of(*found.confirmed, *member));
  print_advice(one.hold_to_end, found.store_options);
}

int status_of(const std::vector<deadlock>& deadlocks) { return deadlocks.empty() ? success : deadlocked; }

void print_deadlocks(const investigation& found) {
  const palette colours{stdout};
  for (const auto& each : found.deadlocks) {
    if (&each != &found.deadlocks.front()) fmt::print("\n");
    print_deadlock(found, each, colours);
  }
}

int explain(const why_command& request, const investigation& found) {
  const auto chain = chain_from(*found.graph, request.name);
  const palette colours{stdout};
  if (request.store.json) {
    print_line(describe_chain(found, request.name));
    return status_of(found.deadlocks);
  }
  if (chain.empty()) print_free(request, request.name, colours);
  for (const auto* lock : chain) print_lock(request, *found.graph, *lock, colours);
  if (!found.deadlocks.empty()) fmt::print("\n");
  print_deadlocks(found);
  return status_of(found.deadlocks);
}

int list_deadlocks(const why_command& request, const investigation& found) {
  if (request.store.json) {
    print_line(describe_deadlocks(found));
  } else if (found.deadlocks.empty()) {
    fmt::print("no deadlock among the {} locks that are waited for{}\n", found.graph->locks().size(),
               note_of_default(request.store));
  } else {
    print_deadlocks(found);
  }
  return status_of(found.deadlocks);
}

investigation investigated(const client& locks, const std::string& name) {
  status_line progress;
  return investigate(locks, name, [&](std::size_t done, std::size_t all) {
    progress.show(fmt::format("reading the queues: {} of {} locks", done, all));
  });
}

}  // namespace

int perform(const why_command& request) {
  if (request.all != request.name.empty()) {
    throw failure{bad_usage, "give the name of a lock, or --all. Try 'holdfast why --help'"};
  }
  const auto locks = open_client(request.store);
  auto found = investigated(locks, request.name);
  // Whoever has chosen the store by the environment has it there for the next command, too.
  found.store_options =
      store_options(request.store.url.empty() ? std::string{} : locks.url(), request.store.password_file);
  if (request.all) return list_deadlocks(request, found);
  keep_those_reached(found, request.name);
  return explain(request, found);
}

}  // namespace holdfast::cli
