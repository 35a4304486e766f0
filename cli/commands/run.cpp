#include "commands/run.hpp"

#include <chrono>
#include <csignal>
#include <fmt/core.h>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/wait_line.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "run/held_command.hpp"
#include "run/program.hpp"
#include "run/run_wait.hpp"
#include <holdfast/error.hpp>
#include <holdfast/event.hpp>

namespace holdfast::cli {

namespace {

/// The result of a run, for its messages.
struct run_result {
  std::vector<std::pair<std::string, std::uint64_t>> tokens;  // of each name
  /// Of the lock that was lost, with its token; empty where several were held, and the loss was noticed at
  /// the release alone.
  std::optional<std::pair<std::string, std::uint64_t>> lost;
  boot_clock::time_point requested_at;
  boot_clock::time_point held_at;
  boot_clock::time_point ended_at;
};

// After a timeout the command ends within the sum of these two.
/// For the answer to who holds the lock.
constexpr std::chrono::milliseconds inspection_limit{1000};
/// For withdrawing the claim, when the client is closed. An answer may still come meanwhile.
constexpr std::chrono::seconds flush_limit{1};

/// What was in the way after a timeout. The limits also hold for a store that does not answer: closing the
/// client ends the attempt.
obstacle inspect_in_time(client& locks, const claim& wish, boot_clock::time_point requested_at) {
  // Deferred if no thread can be created: then the retry policy of the client is the limit.
  // Of hundreds of names in a store far away it looks at some.
  const auto until = boot_clock::now() + inspection_limit / 2;
  auto answer = std::async(std::launch::async | std::launch::deferred,
                           [&] { return obstacle_of(locks, wish, requested_at, 0, until); });
  if (answer.wait_for(inspection_limit) == std::future_status::timeout) locks.close();
  return answer.get();
}

/// Servers of a set that do not answer. A majority does, or there would be an error: the lock may just have
/// been released by others.
std::string silent_servers(const lock_state& lock) {
  std::string text;
  for (const auto& note : lock.notes)
    if (!note.answers) text += (text.empty() ? "" : "; ") + to_text(note);
  return text;
}

/// Scripts have to distinguish a held lock from a store that does not answer.
failure denial_of(client& locks, const claim& wish, boot_clock::time_point requested_at) {
  const bool once = *wish.wait == duration::zero();
  const auto within = once ? "" : " within " + to_whole_text(*wish.wait);
  const auto* const was = wish.others.empty() ? "was" : "were";
  std::string holders;
  bool is_held = false;
  try {
    auto [name, lock] = inspect_in_time(locks, wish, requested_at);
    const auto own = [&](const claim_state& holder) { return is_own(holder, requested_at); };
    if (std::erase_if(lock.holders, own) != 0) {  // granted to this process and released meanwhile
      return {store_unavailable,
              fmt::format("{} {} granted too late and {} released: the store did not answer{}",
                          locks_text(wish), was, was, once ? " in time" : within)};
    }
    is_held = !lock.holders.empty();
    if (!is_held && !lock.pause_reason.empty()) {
      return {store_unavailable,
              fmt::format("{} {} not granted{}, though nobody holds {}: {}", locks_text(wish), was, within,
                          wish.others.empty() ? "it" : "them", printable(lock.pause_reason))};
    }
    holders = wish.others.empty() ? std::string{": it is "} : fmt::format(": '{}' is ", printable(name));
    holders += holders_text(lock);
    if (const auto silent = silent_servers(lock); !is_held && !silent.empty()) holders += "; " + silent;
  } catch (const error& failed) {
    // The holder is optional information, which the user may not be allowed to read. A store that does not
    // answer is the message.
    const bool unanswered = failed.code() == errc::closed;
    if (unanswered || status_of(failed.code()) == store_unavailable) {
      return {store_unavailable,
              fmt::format("{} {} not granted{}, and {} holder is not known: {}", locks_text(wish), was,
                          within, wish.others.empty() ? "its" : "their",
                          unanswered ? locks.url() + " does not answer" : to_failure(failed).what())};
    }
  }
  return {timed_out, fmt::format("{} {} not free{}{}{}", locks_text(wish), was, within, holders,
                                 once || !is_held ? "" : ". A longer --wait may help")};
}

/// \return the status for scripts, which may have chosen another one.
int conclude_denied(const run_command& request, const failure& denial) {
  if (denial.status() != timed_out) throw denial;
  if (request.store.json || !request.quiet) {
    report({static_cast<exit_status>(request.conflict_status), denial.what()}, request.store.json);
  }
  return request.conflict_status;
}

/// If a store's locks end with a session, it cannot keep one without its holder, and refuses --at-least. Then
/// the claim is made without it, and this process has to stay.
/// \param wish loses its least time if the store refuses it.
wait_result await_grant_or_stay(client& locks, claim& wish, signal_inbox& signals, const event* troubled) {
  try {
    return await_grant(locks, wish, signals, troubled);
  } catch (const error& refused) {
    if (!wish.at_least || refused.code() != errc::invalid_argument) throw;
  }
  wish.at_least.reset();
  return await_grant(locks, wish, signals, troubled);
}

/// The reason why the command had to end. The command is asked to end some time before a deadline that no
/// renewal moves: the lease is not lost then, but would be.
loss_reason reason_of(const lease_set& held, bool ended_at_store) {
  if (const lease* lost = held.lost_lease()) return lost->loss().value_or(loss_reason::ended_at_store);
  return ended_at_store ? loss_reason::ended_at_store : loss_reason::not_renewed;
}

/// Keeps the lock by staying after the command.
/// \return false if it was lost meanwhile.
bool stays(const run_command& request, const lease_set& held, boot_clock::time_point until,
           signal_inbox& signals) {
  if (held.lost().stop_requested()) return true;  // it was lost while the command ran
  stay(held.lost(), until, signals);
  if (!held.lost().stop_requested()) return true;
  if (!request.store.json) {
    complain(fmt::format("holdfast: {} {} lost after '{}' had ended, before --at-least was over. {}\n",
                         locks_text(request.wish), request.wish.others.empty() ? "was" : "were",
                         printable(request.command.front()), sentence_of(reason_of(held, true))));
  }
  return false;
}

/// \param ended whether the command was made to end, and did not end by itself.
int conclude(const run_command& request, const ending& end, bool ended, loss_reason reason,
             const run_result& result) {
  const int status = end.lost ? request.lost_status : end.status;
  if (request.store.json) {
    json object{{"name", request.wish.name},
                {"token", result.tokens.front().second},
                {"waited_s", to_seconds(result.held_at - result.requested_at)},
                {"held_s", to_seconds(result.ended_at - result.held_at)},
                {"lost", end.lost}};
    if (end.lost) object["reason"] = to_string(reason);
    if (end.lost && result.lost) object["lost_name"] = result.lost->first;
    for (std::size_t each = 1; each < result.tokens.size(); ++each) {
      const auto& [name, token] = result.tokens[each];
      object["others"].push_back({{"name", name}, {"token", token}});
    }
    if (end.request)
      object["release_requested"] = {{"name", end.request->name}, {"reason", end.request->reason}};
    if (end.left_workers) object["workers_ended"] = true;
    object["command_status"] = end.status;
    object["status"] = status;
    print_line(object, stderr);
  } else if (end.lost) {
    const auto command = printable(request.command.front());
    const auto end_text =
        ended ? std::string{"was ended"} : fmt::format("ended by itself with status {}", end.status);
    const auto which = result.lost ? fmt::format("the lock '{}' (token {})", printable(result.lost->first),
                                                 result.lost->second)
                                   : "one of " + locks_text(request.wish);
    complain(fmt::format("holdfast: {} was lost while '{}' ran; '{}' {}. {}. Others may hold the lock now\n",
                         which, command, command, end_text, sentence_of(reason)));
  }
  return status;
}

}  // namespace

int perform(const run_command& request) {
  require_distinct_names(request.wish);
  const auto pipe_signal = take_over_signals();
  signal_inbox signals{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                       SIGALRM, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD, SIGTTOU};
  const program command{request.command};
  client_options options;
  options.program(command.title("run"));
  // A store whose locks live with a session asks for one that lives as long. And who holds the lock is asked
  // for beside the wait for it, and not to hold that up where the store does not answer.
  options.locks(lock_options{}
                    .ttl(request.wish.ttl.value_or(lock_options{}.ttl()))
                    .retry(retry_policy{}.limit(std::chrono::seconds{2})));
  options.flush_limit(flush_limit);
  const auto troubled = std::make_shared<event>();
  options.observer([troubled](const holdfast::event& seen) {
    if (seen.kind == event_kind::trouble) troubled->raise();
  });
  auto locks = open_client(request.store, options);

  run_result result;
  result.requested_at = boot_clock::now();
  claim wish = request.wish;
  auto waited = await_grant_or_stay(locks, wish, signals,
                                    request.quiet || request.store.json ? nullptr : troubled.get());
  if (waited.interrupted_by) return killed_by_signal + *waited.interrupted_by;
  if (!waited.held) return conclude_denied(request, denial_of(locks, request.wish, result.requested_at));

  auto& held = *waited.held;
  result.held_at = boot_clock::now();
  const auto ttl = request.wish.ttl.value_or(lock_options{}.ttl());
  const hold under = hold_of(held);
  result.tokens = under.tokens;
  auto end = run_under(under, ttl, command, signals, {signals.mask_before(), pipe_signal}, true,
                       {request.request_signal, request.store.json});
  const bool has_to_stay = request.wish.at_least && !wish.at_least;
  const bool lost_later = has_to_stay && !end.lost && !end.interrupted_by &&
                          !stays(request, held, result.held_at + *request.wish.at_least, signals);
  result.ended_at = boot_clock::now();
  const bool ended = end.lost;
  const auto reason = reason_of(held, !ended);
  if (const lease* lost = held.lost_lease()) result.lost.emplace(lost->name(), lost->token().value());
  if (held.leases().size() == 1) result.lost = result.tokens.front();
  const bool lost_at_end = lost_at_release(
      locks, [&] { return held.release(); }, locks_text(request.wish), !request.store.json && !end.lost);
  end.lost = end.lost || (lost_at_end && !lost_later);
  // Not sooner: a second Ctrl-C would end this process, and the lock would stay held for its ttl.
  signals.discard();
  signals.close();
  return conclude(request, end, ended, reason, result);
}

}  // namespace holdfast::cli
