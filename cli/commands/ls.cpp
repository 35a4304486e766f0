// SPDX-License-Identifier: Apache-2.0
#include "commands/ls.hpp"

#include <chrono>
#include <fmt/format.h>

#include "output/elapsed_line.hpp"
#include "output/json.hpp"
#include "output/table.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "why/headlines.hpp"

namespace holdfast::cli {

namespace {

/// \param idle whether free names are shown, of which the store knows only the last token.
std::vector<std::string> row_of(const lock_summary& lock, bool idle) {
  const bool held = lock.holders != 0;
  const auto number = [](fencing_token token) { return token ? std::to_string(token.value()) : "-"; };
  // Not every store keeps the mode of a name that is not in use.
  const bool has_mode = held || lock.waiters != 0;
  std::vector<std::string> row{printable(lock.name), has_mode ? mode_text(lock) : "-",
                               std::to_string(lock.holders), std::to_string(lock.waiters)};
  if (idle) row.push_back(number(lock.last_token));
  // The hold of another library has no token, and its age is not known.
  row.insert(row.end(), {number(lock.holder_token), lock.holder_token ? to_text(lock.held_for) : "-",
                         held ? to_text(lock.holder) + (lock.holder.released ? ", released" : "") : "-"});
  return row;
}

void print_table(const std::vector<lock_summary>& locks, bool idle) {
  using enum column::side;
  std::vector<column> columns{{"NAME", left}, {"MODE", left}, {"HOLDERS", right}, {"WAITERS", right}};
  if (idle) columns.push_back({"LAST TOKEN", right});
  columns.insert(columns.end(), {{"TOKEN", right}, {"HELD FOR", right}, {"HOLDER", left}});
  table lines{columns};
  for (const auto& lock : locks) lines.add(row_of(lock, idle));
  if (is_terminal(stdout)) lines.fit(terminal_width(stdout));
  fmt::print("{}", lines.text(palette{stdout}));
  if (locks.front().notes.empty()) return;
  fmt::print("\n");
  for (const auto& note : locks.front().notes)
    fmt::print("note: {}\n", to_text(note));  // the same in each line
}

std::vector<lock_summary> listed(const client& store, bool all) {
  const elapsed_line shown{"listing the locks of " + printable(store.url())};
  return store.list(all);
}

}  // namespace

int perform(const ls_command& request) {
  const auto store = open_client(request.store);
  const auto locks = listed(store, request.all);
  if (request.store.json) {
    for (const auto& lock : locks) print_line(describe(lock));
  } else if (!locks.empty()) {
    print_table(locks, request.all);
    if (const auto pause = pause_headline(store, locks)) fmt::print("\n{}\n", *pause);
    for (const auto& each : deadlock_headlines(store, locks)) fmt::print("\n{}\n", palette{stdout}.red(each));
  } else if (is_terminal(stdout)) {
    // Another user, as with sudo, has another default store.
    const auto where =
        is_default(request.store) ? note_of_default(request.store) : " on " + printable(store.url());
    fmt::print("{}", request.all
                         ? fmt::format("there are no locks{}\n", where)
                         : fmt::format("no lock is held or waited for{}; --all lists idle locks\n", where));
  }
  return 0;
}

int perform(const names_command& request) {
  using namespace std::chrono_literals;
  // A user waits for the completion.
  const auto hasty = lock_options{}.retry(retry_policy{}.limit(300ms));
  const auto locks = open_client(request.store, client_options{}.locks(hasty));
  for (const auto& lock : locks.list(true)) {
    // A name that begins with a hyphen would be read as an option.
    if (printable(lock.name) == lock.name && !lock.name.starts_with('-')) fmt::print("{}\n", lock.name);
  }
  return 0;
}

}  // namespace holdfast::cli
