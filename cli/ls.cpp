#include "ls.hpp"

#include <chrono>
#include <fmt/core.h>

#include "json.hpp"
#include "table.hpp"
#include "text.hpp"

namespace holdfast::cli {

namespace {

std::vector<std::string> row_of(const lock_summary& lock) {
  const bool held = lock.holders != 0;
  auto how = std::string{to_string(lock.how)};
  if (lock.capacity != 0) how += fmt::format(" of {}", lock.capacity);
  return {printable(lock.name),
          how,
          std::to_string(lock.holders),
          std::to_string(lock.waiters),
          lock.holder_token ? std::to_string(lock.holder_token.value()) : "",
          held ? to_text(lock.held_for) : "-",
          held ? to_text(lock.holder) : "-"};
}

void print_table(const std::vector<lock_summary>& locks) {
  using enum column::side;
  table lines{{{"NAME", left},
               {"MODE", left},
               {"HOLDERS", right},
               {"WAITERS", right},
               {"TOKEN", right},
               {"HELD FOR", right},
               {"HOLDER", left}}};
  for (const auto& lock : locks) lines.add(row_of(lock));
  fmt::print("{}", lines.text(palette{stdout}));
}

}  // namespace

int perform(const ls_command& what) {
  const auto locks = open_client(what.store).list(what.all);
  if (what.store.json) {
    for (const auto& lock : locks) print_line(describe(lock));
  } else if (!locks.empty()) {
    print_table(locks);
  } else if (is_terminal(stdout)) {
    fmt::print("nothing is held or waited for{}\n",
               what.all ? ", or ever was" : "; --all shows idle names too");
  }
  return 0;
}

int perform(const names_command& what) {
  using namespace std::chrono_literals;
  // Somebody waits with a finger on the tab key.
  const auto hasty = lock_options{}.retry(retry_policy{}.limit(300ms));
  const auto locks = open_client(what.store, client_options{}.locks(hasty));
  for (const auto& lock : locks.list(true)) {
    if (printable(lock.name) == lock.name) fmt::print("{}\n", lock.name);
  }
  return 0;
}

}  // namespace holdfast::cli
