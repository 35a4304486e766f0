#include "commands/run.hpp"

#include <chrono>
#include <csignal>
#include <fmt/core.h>
#include <future>
#include <string_view>

#include "commands/wait_line.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "run/child.hpp"
#include "run/guardian.hpp"
#include "run/program.hpp"
#include "run/run_wait.hpp"
#include "run/supervisor.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// The result of a run, for its messages.
struct run_result {
  std::uint64_t token = 0;
  boot_clock::time_point requested_at;
  boot_clock::time_point held_at;
  boot_clock::time_point ended_at;
};

// After a timeout the command ends within the sum of these two.
/// For the answer to who holds the lock.
constexpr std::chrono::seconds inspection_limit{1};
/// For withdrawing the claim, when the client is closed. An answer may still come meanwhile.
constexpr std::chrono::seconds flush_limit{1};

/// The state of a lock after a timeout. The limits also hold for a store that does not answer: closing the
/// client ends the attempt.
lock_state inspect_in_time(client& locks, const std::string& name) {
  // Deferred if no thread can be created: then the retry policy of the client is the limit.
  auto answer = std::async(std::launch::async | std::launch::deferred,
                           [&] { return locks.inspect(name, 0).value_or(lock_state{}); });
  if (answer.wait_for(inspection_limit) == std::future_status::timeout) locks.close();
  return answer.get();
}

/// Scripts have to distinguish a held lock from a store that does not answer.
failure denial_of(client& locks, const claim& wish) {
  const bool once = *wish.wait == duration::zero();
  const auto within = once ? "" : " within " + to_whole_text(*wish.wait);
  std::string holders;
  try {
    auto lock = inspect_in_time(locks, wish.name);
    if (std::erase_if(lock.holders, is_own) != 0) {  // granted to this process and released meanwhile
      return {store_unavailable,
              fmt::format("the lock '{}' was granted too late and was released: the store did not answer{}",
                          wish.name, once ? " in time" : within)};
    }
    holders = ": it is " + holders_text(lock);
  } catch (const error& failed) {
    // The holder is optional information, which the user may not be allowed to read. A store that does not
    // answer is the message.
    const bool unanswered = failed.code() == errc::closed;
    if (unanswered || status_of(failed.code()) == store_unavailable) {
      return {store_unavailable,
              fmt::format("the lock '{}' was not granted{}, and its holder is not known: {}", wish.name,
                          within, unanswered ? locks.url() + " does not answer" : to_failure(failed).what())};
    }
  }
  return {timed_out, fmt::format("the lock '{}' was not free{}{}{}", wish.name, within, holders,
                                 once ? "" : ". A longer --wait may help")};
}

/// \return the status for scripts, which may have chosen another one.
int conclude_denied(const run_command& request, const failure& denial) {
  if (denial.status() != timed_out) throw denial;
  if (request.store.json || !request.quiet) {
    report({static_cast<exit_status>(request.conflict_status), denial.what()}, request.store.json);
  }
  return request.conflict_status;
}

/// Runs the command under the lease, and releases it.
ending run_under(lease& held, const run_command& request, const program& command, signal_inbox& signals,
                 const inherited_signals& inherited, run_result& result) {
  guardian guard;
  child_process child{command, environment_for(held.token(), request.wish.name), inherited};
  // If a lease ends with a session, the shorter lifetime decides the grace period.
  const auto ttl = std::min<duration>(request.wish.ttl.value_or(lock_options{}.ttl()),
                                      std::chrono::ceil<duration>(held.remaining()));
  auto end = supervisor{held, ttl, child, guard, signals}.run();
  result.ended_at = boot_clock::now();
  return end;
}

/// The reason why the command had to end. The command is asked to end some time before a deadline that no
/// renewal moves: the lease is not lost then, but would be.
loss_reason reason_of(const lease& held, bool ended_at_store) {
  if (const auto reason = held.loss()) return *reason;
  return ended_at_store ? loss_reason::ended_at_store : loss_reason::not_renewed;
}

std::string_view to_json_text(loss_reason reason) {
  switch (reason) {
    case loss_reason::ended_at_store: return "ended_at_store";
    case loss_reason::not_renewed: return "not_renewed";
    case loss_reason::session_ended: return "session_ended";
    case loss_reason::client_closed: return "client_closed";
  }
  return "unknown";
}

std::string_view sentence_of(loss_reason reason) {
  switch (reason) {
    case loss_reason::ended_at_store:
      return "The store no longer has the lease: it was released by force, it expired there, or the store "
             "lost it";
    case loss_reason::not_renewed: return "The store did not confirm a renewal in time";
    case loss_reason::session_ended: return "The session at the store could not be kept alive in time";
    case loss_reason::client_closed: return "The client was closed";
  }
  return "";
}

/// Whether the store reports that the lease had ended before. A store that does not answer causes a warning
/// only, after a short wait: the command has ended under a valid lease, which ends by itself.
bool lost_at_release(client& locks, lease& held, const run_command& request) {
  constexpr std::chrono::seconds patience{5};
  // Deferred if no thread can be created: the command's status matters more than a short wait.
  auto released = std::async(std::launch::async | std::launch::deferred, [&] { return held.release(); });
  if (released.wait_for(patience) == std::future_status::timeout) locks.close();  // which ends the attempt
  const auto code = released.get();
  if (code && code != errc::lost && !request.store.json) {
    complain(
        fmt::format("holdfast: the release of the lock '{}' could not be confirmed ({}). The lock ends by "
                    "itself when its lease expires\n",
                    printable(request.wish.name), code.message()));
  }
  return code == errc::lost;
}

/// \param ended whether the command was made to end, and did not end by itself.
int conclude(const run_command& request, const ending& end, bool ended, loss_reason reason,
             const run_result& result) {
  const int status = end.lost ? request.lost_status : end.status;
  if (request.store.json) {
    json object{{"name", request.wish.name},
                {"token", result.token},
                {"waited_s", to_seconds(result.held_at - result.requested_at)},
                {"held_s", to_seconds(result.ended_at - result.held_at)},
                {"lost", end.lost}};
    if (end.lost) object["reason"] = to_json_text(reason);
    object["command_status"] = end.status;
    object["status"] = status;
    print_line(object, stderr);
  } else if (end.lost) {
    const auto command = printable(request.command.front());
    const auto end_text =
        ended ? std::string{"was ended"} : fmt::format("ended by itself with status {}", end.status);
    complain(fmt::format(
        "holdfast: the lock '{}' (token {}) was lost while '{}' ran; '{}' {}. {}. Others may hold the lock "
        "now\n",
        printable(request.wish.name), result.token, command, command, end_text, sentence_of(reason)));
  }
  return status;
}

}  // namespace

int perform(const run_command& request) {
  ::signal(SIGCHLD, SIG_DFL);  // if a parent left it ignored, the child's status would be lost
  // A killed guardian does not read its pipe: SIGPIPE must not end this process.
  const auto pipe_signal = ::signal(SIGPIPE, SIG_IGN);
  signal_inbox signals{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                       SIGALRM, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD, SIGTTOU};
  const program command{request.command};
  client_options options;
  options.program(command.name());
  // A store whose locks live with a session asks for one that lives as long. And who holds the lock is asked
  // for beside the wait for it, and not to hold that up where the store does not answer.
  options.locks(lock_options{}
                    .ttl(request.wish.ttl.value_or(lock_options{}.ttl()))
                    .retry(retry_policy{}.limit(std::chrono::seconds{2})));
  options.flush_limit(flush_limit);
  auto locks = open_client(request.store, options);

  run_result result;
  result.requested_at = boot_clock::now();
  auto waited = await_grant(locks, request.wish, signals);
  if (waited.interrupted_by) return killed_by_signal + *waited.interrupted_by;
  if (!waited.held) return conclude_denied(request, denial_of(locks, request.wish));

  auto& held = *waited.held;
  result.held_at = boot_clock::now();
  result.token = held.token().value();
  auto end = run_under(held, request, command, signals, {signals.mask_before(), pipe_signal}, result);
  signals.close();  // from here on signals end this process: the command is over
  const bool ended = end.lost;
  const auto reason = reason_of(held, !ended);
  end.lost = lost_at_release(locks, held, request) || end.lost;
  return conclude(request, end, ended, reason, result);
}

}  // namespace holdfast::cli
