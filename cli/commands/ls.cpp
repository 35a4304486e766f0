#include "commands/ls.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "output/elapsed_line.hpp"
#include "output/json.hpp"
#include "output/table.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "why/investigation.hpp"

namespace holdfast::cli {

namespace {

/// \param idle whether free names are shown, of which the store knows only the last token.
std::vector<std::string> row_of(const lock_summary& lock, bool idle) {
  const bool held = lock.holders != 0;
  auto mode_text = std::string{to_string(lock.mode)};
  if (lock.capacity != 0) mode_text += fmt::format(" of {}", lock.capacity);
  const auto number = [](fencing_token token) { return token ? std::to_string(token.value()) : "-"; };
  std::vector<std::string> row{printable(lock.name), mode_text, std::to_string(lock.holders),
                               std::to_string(lock.waiters)};
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

/// Why nobody holds what is waited for, where the store grants nothing to anybody.
void print_pause(const client& store, const std::vector<lock_summary>& locks) {
  const auto first = std::ranges::find_if(
      locks, [](const lock_summary& lock) { return lock.holders == 0 && lock.waiters != 0; });
  if (first == locks.end()) return;
  const auto lock = store.inspect(first->name, 0);
  if (lock && !lock->pause_reason.empty())
    fmt::print("\nnothing is granted now: {}\n", printable(lock->pause_reason));
}

/// A deadlock lasts until somebody ends it, who has to learn of it first. Only where few queues have to be
/// read.
void print_deadlocks(const client& store, const std::vector<lock_summary>& locks) {
  constexpr std::ptrdiff_t most_queues = 64;
  const auto queues = std::ranges::count_if(
      locks, [](const lock_summary& lock) { return lock.holders != 0 && lock.waiters != 0; });
  if (queues == 0 || queues > most_queues) return;
  for (const auto& each : investigate(store, {}, [](std::size_t, std::size_t) {}).deadlocks) {
    std::set<std::string> names;
    for (const party* member : each.members)
      for (const auto& held : member->holds) names.insert(printable(held.name));
    fmt::print("\n{} among {}: 'holdfast why --all' says what ends it\n", palette{stdout}.red("deadlock"),
               fmt::join(names, ", "));
  }
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
    print_pause(store, locks);
    print_deadlocks(store, locks);
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
