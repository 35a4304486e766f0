#include "wait.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/core.h>
#include <memory>

#include "descriptor.hpp"
#include "failure.hpp"
#include "json.hpp"
#include "signal_inbox.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "wait_line.hpp"

namespace holdfast::cli {

namespace {

int conclude(const wait_command& what, bool free, boot_clock::time_point since) {
  if (what.store.json) {
    const auto waited = std::chrono::duration_cast<duration>(boot_clock::now() - since);
    print_line({{"name", what.name}, {"free", free}, {"waited_s", to_seconds(waited)}});
  }
  return free ? success : not_had_in_time;
}

}  // namespace

int perform(const wait_command& what) {
  using namespace std::chrono_literals;
  signal_inbox signals{SIGINT, SIGTERM, SIGHUP};
  const auto locks = open_client(what.store);
  const auto since = boot_clock::now();
  const auto changed = std::make_shared<event>();
  std::shared_ptr<void> watch;
  for (;;) {
    const auto lock = locks.inspect(what.name, 0);
    if (!lock || lock->holders.empty()) return conclude(what, true, since);
    const auto waited = std::chrono::duration_cast<duration>(boot_clock::now() - since);
    if (what.limit && waited >= *what.limit) {
      if (!what.store.json) {
        complain(fmt::format("holdfast: '{}' was not free within {}: {}\n", printable(what.name),
                             to_whole_text(*what.limit), holders_text(*lock)));
      }
      return conclude(what, false, since);
    }
    if (!watch) {
      watch = locks.watch([changed] { changed->raise(); });
      continue;  // what changed before the watch began is not notified
    }
    // A hold that ends with its ttl changes nothing at the store: look now and then.
    await_any({signals.get(), changed->get()},
              what.limit ? std::min<duration>(*what.limit - waited, 1s) : 1s);
    changed->take();
    if (const auto number = signals.take()) return killed_by_signal + *number;
  }
}

}  // namespace holdfast::cli
