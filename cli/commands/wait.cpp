// SPDX-License-Identifier: Apache-2.0
#include "commands/wait.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

#include "commands/wait_line.hpp"
#include "descriptor.hpp"
#include "failure.hpp"
#include "interruptible.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "signal_inbox.hpp"
#include <holdfast/client.hpp>
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// The additional time for the store's answer after the limit.
constexpr std::chrono::seconds answer_limit{1};

/// A look tells its own error by then, which says more than that no answer came.
constexpr std::chrono::milliseconds slack{200};

/// Looks change nothing, so nothing has to reach the store when the client is closed.
client_options options_for(const wait_command& request) {
  retry_policy retry;
  if (request.limit) retry.limit(std::min<duration>(retry.limit(), *request.limit + answer_limit));
  return client_options{}.flush_limit(duration::zero()).locks(lock_options{}.retry(retry));
}

/// A name that the default store has never heard of may be a lock of another store.
void tell_of_default(const wait_command& request) {
  if (const auto note = note_of_default(request.store); !note.empty())
    complain(fmt::format("holdfast: nobody has used the lock '{}'{}\n", printable(request.name), note));
}

failure unknown(const wait_command& request, const std::string& cause) {
  return {store_unavailable,
          fmt::format("it is not known whether the lock '{}' is free: {}", printable(request.name), cause)};
}

int conclude(const wait_command& request, bool free, boot_clock::time_point since) {
  if (request.store.json) {
    const auto waited = std::chrono::duration_cast<duration>(boot_clock::now() - since);
    print_line({{"name", request.name}, {"free", free}, {"waited_s", to_seconds(waited)}});
  }
  return free ? success : timed_out;
}

}  // namespace

int perform(const wait_command& request) {
  using namespace std::chrono_literals;
  signal_inbox signals{SIGINT, SIGTERM, SIGHUP};
  auto locks = open_client(request.store, options_for(request));
  const auto since = boot_clock::now();
  const auto changed = std::make_shared<event>();
  std::shared_ptr<void> watch;
  const auto waited_for = [&] { return std::chrono::duration_cast<duration>(boot_clock::now() - since); };
  for (;;) {
    std::optional<lock_state> lock;
    std::optional<duration> left;
    if (request.limit)
      left = std::max<duration>(*request.limit - waited_for(), duration::zero()) + answer_limit + slack;
    try {
      if (!run_interruptibly(locks, signals, left, [&] { lock = locks.inspect(request.name, 0); })) {
        if (const auto number = signals.take()) return killed_by_signal + *number;
        throw unknown(request, locks.url() + " does not answer");
      }
    } catch (const error& problem) {
      if (problem.code() != errc::unavailable) throw;
      throw unknown(request, problem.detail());
    }
    if (!lock && !request.store.json) tell_of_default(request);
    if (!lock || lock->holders.empty()) return conclude(request, true, since);
    const auto waited = waited_for();
    if (request.limit && waited >= *request.limit) {
      if (!request.store.json) {
        const bool once = *request.limit == duration::zero();
        complain(fmt::format("holdfast: the lock '{}' was not free{}: it is {}\n", printable(request.name),
                             once ? "" : " within " + to_whole_text(*request.limit), holders_text(*lock)));
      }
      return conclude(request, false, since);
    }
    if (!watch) {
      watch = locks.watch(request.name, [changed] { changed->raise(); });
      continue;  // the watch does not report changes from before its start
    }
    // A hold that ends with its ttl changes nothing at the store: look now and then.
    await_any({signals.get(), changed->get()},
              request.limit ? std::min<duration>(*request.limit - waited, 1s) : 1s);
    changed->take();
    if (const auto number = signals.take()) return killed_by_signal + *number;
  }
}

}  // namespace holdfast::cli
