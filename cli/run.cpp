#include "run.hpp"

#include <chrono>
#include <csignal>
#include <fmt/core.h>

#include "child.hpp"
#include "failure.hpp"
#include "guardian.hpp"
#include "json.hpp"
#include "program.hpp"
#include "run_wait.hpp"
#include "supervisor.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "wait_line.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// What there is to tell when it is over.
struct run_record {
  std::uint64_t token = 0;
  boot_clock::time_point asked_at;
  boot_clock::time_point held_at;
  boot_clock::time_point ended_at;
};

[[noreturn]] void fail_not_had(const client& locks, const claim& wish) {
  std::string who;
  try {
    if (const auto lock = locks.inspect(wish.name)) who = ": " + holders_text(*lock);
  } catch (const error&) {
    // Who holds it is a courtesy; that it could not be had is the message.
  }
  const auto within = *wish.wait == duration::zero() ? "" : " within " + to_text(*wish.wait);
  throw failure{not_had_in_time, fmt::format("'{}' was not free{}{}. A longer --wait gives it more time",
                                             wish.name, within, who)};
}

/// Runs the command under the lease, and lets go of it.
ending run_under(lease& held, const run_command& what, const program& command, signal_inbox& signals,
                 run_record& record) {
  guardian guard;
  child_process child{command, environment_for(held.token(), what.wish.name), signals.mask_before()};
  const auto ttl = what.wish.ttl.value_or(lock_options{}.ttl());
  auto end = supervisor{held, ttl, child, guard, signals}.run();
  record.ended_at = boot_clock::now();
  return end;
}

/// Whether the store says that the lease had ended before. A store that cannot be asked is worth a warning
/// only: the command has ended, under a lease that was good, and its ttl ends the lease.
bool release_finds_it_lost(lease& held, const run_command& what) {
  const auto code = held.release();
  if (code && code != errc::lost && !what.store.json) {
    complain(fmt::format("holdfast: the release of '{}' could not be confirmed ({}); it ends with its ttl\n",
                         printable(what.wish.name), code.message()));
  }
  return code == errc::lost;
}

int conclude(const run_command& what, const ending& end, const run_record& record) {
  const int status = end.lost ? static_cast<int>(lease_lost) : end.status;
  if (what.store.json) {
    print_line({{"name", what.wish.name},
                {"token", record.token},
                {"waited_s", to_seconds(record.held_at - record.asked_at)},
                {"held_s", to_seconds(record.ended_at - record.held_at)},
                {"lost", end.lost},
                {"command_status", end.status},
                {"status", status}},
               stderr);
  } else if (end.lost) {
    complain(
        fmt::format("holdfast: '{}' (token {}) was lost while '{}' ran, and it was ended: it was released by "
                    "force, or could not be renewed in time. Others may hold it now\n",
                    printable(what.wish.name), record.token, printable(what.command.front())));
  }
  return status;
}

}  // namespace

int perform(const run_command& what) {
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as some parents leave it, it would take our child's status away
  signal_inbox signals{SIGHUP,   SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                       SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD, SIGTTOU, SIGPIPE};
  const program command{what.command};
  auto locks = open_client(what.store, client_options{}.program(command.name()));

  run_record record;
  record.asked_at = boot_clock::now();
  auto waited = await_grant(locks, what.wish, signals);
  if (waited.interrupted_by) return killed_by_signal + *waited.interrupted_by;
  if (!waited.held) fail_not_had(locks, what.wish);

  auto& held = *waited.held;
  record.held_at = boot_clock::now();
  record.token = held.token().value();
  auto end = run_under(held, what, command, signals, record);
  signals.close();  // from here on, whoever is impatient may end us: the command is over
  end.lost = release_finds_it_lost(held, what) || end.lost;
  return conclude(what, end, record);
}

}  // namespace holdfast::cli
