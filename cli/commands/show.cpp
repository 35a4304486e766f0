// SPDX-License-Identifier: Apache-2.0
#include "commands/show.hpp"

#include <fmt/format.h>

#include "exit_status.hpp"
#include "output/json.hpp"
#include "output/table.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

void print_holders(const lock_state& lock, const palette& colours) {
  using enum column::side;
  table lines{
      {{"HOLDER", left}, {"MODE", left}, {"TOKEN", right}, {"HELD FOR", right}, {"EXPIRES IN", right}}};
  for (const auto& claim : lock.holders) {
    const auto* const state = claim.claimant.released ? ", released" : "";
    lines.add({to_text(claim.claimant) + state, mode_text(claim, lock.capacity),
               claim.token ? std::to_string(claim.token.value()) : "-",
               claim.token ? to_text(claim.age) : "-",
               has_end(claim) ? to_text(claim.expires_in) : "does not expire"});
  }
  fmt::print("\n{}", lines.text(colours));
}

void print_waiters(const lock_state& lock, const palette& colours) {
  using enum column::side;
  table lines{{{"#", right}, {"WAITER", left}, {"MODE", left}, {"WAITING FOR", right}}};
  for (const auto& claim : lock.waiters) {
    lines.add({std::to_string(&claim - lock.waiters.data() + 1), to_text(claim.claimant),
               mode_text(claim, lock.capacity), to_text(claim.age)});
  }
  fmt::print("\n{}", lines.text(colours));
}

std::string summary_of(const lock_state& lock, const store_choice& store) {
  if (lock.holders.empty() && lock.waiters.empty()) {
    return lock.pause_reason.empty() ? "free" + note_of_default(store)
                                     : "held by nobody that the store knows";
  }
  return fmt::format("{} holding, {} waiting", lock.holders.size(), lock.waiters.size());
}

void print_text(const lock_state& lock, const store_choice& store) {
  const palette colours{stdout};
  fmt::print("{}: {}\n", colours.bold(printable(lock.name)), summary_of(lock, store));
  fmt::print("last token: {}\n", lock.last_token ? std::to_string(lock.last_token.value()) : "none yet");
  if (!lock.pause_reason.empty()) fmt::print("nothing is granted now: {}\n", printable(lock.pause_reason));
  if (!lock.holders.empty()) print_holders(lock, colours);
  if (!lock.waiters.empty()) print_waiters(lock, colours);
  for (const auto& claim : lock.holders) {
    const auto& reason = claim.claimant.release_request;
    if (!reason) continue;
    fmt::print("\nthe holder with the token {} is asked to release{}{}\n", claim.token.value(),
               reason->empty() ? "" : ": ", printable(*reason));
  }
  if (!lock.notes.empty()) fmt::print("\n");
  for (const auto& note : lock.notes) fmt::print("note: {}\n", to_text(note));
}

}  // namespace

int perform(const show_command& request) {
  // A name that the store does not know is a free lock.
  lock_state unheard_of;
  unheard_of.name = request.name;
  const auto lock = open_client(request.store).inspect(request.name).value_or(unheard_of);
  if (request.quiet) return lock.holders.empty() ? no_match : success;
  if (request.store.json) {
    print_line(describe(lock));
  } else {
    print_text(lock, request.store);
  }
  return 0;
}

}  // namespace holdfast::cli
