// SPDX-License-Identifier: Apache-2.0
#include "commands/run.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fmt/format.h>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "commands/wait_line.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "run/file_lock.hpp"
#include "run/held_command.hpp"
#include "run/program.hpp"
#include "run/run_wait.hpp"
#include <holdfast/error.hpp>
#include <holdfast/event.hpp>

namespace holdfast::cli {

namespace {

/// The locks of one store that the command runs under.
struct store_locks {
  client locks;
  claim wish;   ///< without a least time where this process has to stay for it
  bool is_own;  ///< of --store
};

/// The lock whose loss ended the command, for messages.
struct loss {
  std::string locks;  ///< one of these, where it is not known which
  std::optional<std::uint64_t> token;
  std::string name;   ///< empty where it is not known
  std::string store;  ///< empty where there is one store, or it is not known which
  loss_reason reason = loss_reason::ended_at_store;
};

/// The result of a run, for its messages.
struct run_result {
  std::vector<std::pair<std::string, std::uint64_t>> tokens;  // of each name of --store
  std::optional<std::uint64_t> also_token;
  loss lost;  // if one was
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
wait_result await_grant_or_stay(store_locks& on, std::optional<boot_clock::time_point> until,
                                signal_inbox& signals, const event* troubled) {
  const auto wait = [&] {
    claim now = on.wish;
    if (until) now.wait = std::max(duration::zero(), std::chrono::ceil<duration>(*until - boot_clock::now()));
    return await_grant(on.locks, now, signals, troubled);
  };
  try {
    return wait();
  } catch (const error& refused) {
    if (!on.wish.at_least || refused.code() != errc::invalid_argument) throw;
  }
  on.wish.at_least.reset();
  return wait();
}

/// \throws what await_grant_or_stay throws; of another store than --store a failure, because an error may get
/// advice about the default store.
wait_result await_locks(store_locks& on, std::optional<boot_clock::time_point> until, signal_inbox& signals,
                        const event* troubled) {
  try {
    return await_grant_or_stay(on, until, signals, troubled);
  } catch (const error& cause) {
    if (on.is_own) throw;
    throw to_failure(cause);
  }
}

std::optional<boot_clock::time_point> end_of_wait(const run_command& request,
                                                  boot_clock::time_point requested_at) {
  if (!request.wish.wait) return std::nullopt;
  return requested_at + *request.wish.wait;
}

/// The other store would have the first name alone, and a job that holds the others there could run beside
/// this one.
void require_one_name(const run_command& request) {
  if (!request.also || request.wish.others.empty()) return;
  throw failure{bad_usage,
                "--also holds one name of the other store, so --and does not go with it. To hold more: "
                "holdfast run a --and b --store OLD -- holdfast run a --and b --store NEW -- ./job"};
}

failure taken_anyway(const std::string& name, const std::string& store) {
  return {bad_usage, fmt::format("--also: '{}' of {} is taken anyway; --also is for another store",
                                 printable(name), printable(store))};
}

/// Whether two stores have one and the same claim among the holders of a name: it has a random id, while a
/// token may differ by `token_base`. False where a store cannot be asked.
bool share_holder(const client& one, const client& other, const std::string& name) {
  const auto holders = [&name](const client& at) {
    auto lock = at.inspect(name, 0).value_or(lock_state{});
    std::erase_if(lock.holders, [](const claim_state& each) { return !each.token; });  // of another library
    return std::move(lock.holders);
  };
  try {
    const auto of_one = holders(one);
    return std::ranges::any_of(holders(other), [&](const claim_state& holder) {
      return std::ranges::find(of_one, holder.owner, &claim_state::owner) != of_one.end();
    });
  } catch (const error&) {  // the claim ends with its own error
    return false;
  }
}

/// The URLs of two stores may differ although it is one store, where this process would wait for itself for
/// ever. \param first held by this process.
/// \return the signal that ended the wait for the answers. \throws failure if it is one lock.
std::optional<int> require_another_lock(store_locks& first, store_locks& second, signal_inbox& signals) {
  if (second.wish.name != first.wish.name) return std::nullopt;
  bool is_same = false;
  const auto interrupted_by = await_call(second.locks, second.wish, signals, requests_end, nullptr, [&] {
    is_same = share_holder(first.locks, second.locks, first.wish.name);
  });
  if (is_same) throw taken_anyway(first.wish.name, first.wish.store);
  return interrupted_by;
}

/// Takes the locks of one store after the other.
/// \return the leases, in the order of the stores; or the exit status if they are not granted.
std::variant<lease_set, int> acquire_all(const run_command& request, std::vector<store_locks>& stores,
                                         signal_inbox& signals, const event* troubled,
                                         boot_clock::time_point requested_at) {
  const auto until = end_of_wait(request, requested_at);
  for (;;) {
    lease_set held;
    for (store_locks& each : stores) {
      if (held) {
        const auto interrupted_by = require_another_lock(stores.front(), each, signals);
        if (interrupted_by) return killed_by_signal + *interrupted_by;
      }
      auto waited = await_locks(each, until, signals, troubled);
      if (waited.interrupted_by) return killed_by_signal + *waited.interrupted_by;
      if (!waited.held) {
        held = lease_set{};  // others need not wait for the first while this asks who has the second
        return conclude_denied(request, denial_of(each.locks, each.wish, requested_at));
      }
      held.add(std::move(*waited.held));
    }
    if (stores.size() == 1 || held.held()) return held;
    // Waiting for the first while the second is held could be a deadlock: both are released.
    if (!request.store.json && !request.quiet) {
      complain(fmt::format("holdfast: {} was lost during the wait for {}; both are taken anew\n",
                           locks_text(stores.front().wish), locks_text(stores.back().wish)));
    }
  }
}

/// \return the exit status if it is not locked.
std::optional<int> lock_file(const run_command& request, std::optional<file_lock>& locked,
                             signal_inbox& signals, boot_clock::time_point requested_at) {
  if (request.also_file.empty()) return std::nullopt;
  auto waited = await_file(request.also_file, end_of_wait(request, requested_at), signals, requests_end);
  if (waited.interrupted_by) return killed_by_signal + *waited.interrupted_by;
  if (waited.locked) {
    locked.emplace(std::move(waited.locked));
    return std::nullopt;
  }
  const auto within =
      *request.wish.wait == duration::zero() ? "" : " within " + to_whole_text(*request.wish.wait);
  return conclude_denied(request, {timed_out, fmt::format("the file '{}' was not free{}: another process has "
                                                          "locked it",
                                                          request.also_file, within)});
}

/// The other store gets no password of --store's.
client open_also(const run_command& request, client_options options) {
  const store_choice choice{request.also->url, request.also_password_file, false};
  if (!choice.password_file.empty()) {
    give_password(choice, options);
  } else if (choice.url.find("***") != choice.url.npos && masked_url(choice.url) == choice.url) {
    throw failure{bad_usage, fmt::format("--also: the password of {} is masked; give it with "
                                         "--also-password-file",
                                         choice.url)};
  }
  try {
    return client{choice.url, std::move(options)};
  } catch (const error& cause) {
    throw to_failure(cause);
  }
}

/// In the order in which they are taken.
std::vector<store_locks> open_stores(const run_command& request, const client_options& options) {
  std::vector<store_locks> stores;
  claim own = request.wish;
  // This process stays: no store keeps the file locked. And a name would rest although the command has not
  // run, if that of the other store was not granted.
  if (request.also || !request.also_file.empty()) own.at_least.reset();
  if (request.also) {
    const bool is_same = request.also->url == url_of(request.store);
    if (is_same && own.name == request.also->name) {
      throw taken_anyway(request.also->name, masked_url(request.also->url));
    }
    claim also = own;
    also.name = request.also->name;
    auto other = open_also(request, options);
    also.store = other.url();
    stores.push_back({std::move(other), std::move(also), false});
  }
  auto locks = open_client(request.store, options);
  if (request.also) own.store = locks.url();
  stores.push_back({std::move(locks), std::move(own), true});
  return stores;
}

/// The store of a lease, by its place among the leases.
const store_locks& store_of(std::size_t place, const std::vector<store_locks>& stores) {
  return stores.front().is_own || place == 0 ? stores.front() : stores.back();
}

/// \param was_ended the command is asked to end some time before a deadline that no renewal moves: that lease
/// is not lost then, but would be.
loss loss_of(const lease_set& held, const std::vector<store_locks>& stores, bool was_ended) {
  const auto leases = held.leases();
  const lease* lost = held.lost_lease();
  loss found;
  found.reason = lost != nullptr ? lost->loss().value_or(loss_reason::ended_at_store)
                 : was_ended     ? loss_reason::not_renewed
                                 : loss_reason::ended_at_store;
  if (lost == nullptr && (was_ended || leases.size() == 1)) {
    // If a store has several names, all of them will be lost.
    const auto* const first = &*std::ranges::min_element(leases, {}, &lease::deadline);
    const auto& on = store_of(static_cast<std::size_t>(first - leases.data()), stores);
    found.store = on.wish.store;
    if (on.wish.others.empty()) {
      lost = first;
    } else {
      found.locks = "one of " + locks_text(on.wish);
    }
  }
  if (lost != nullptr) {
    found.store = store_of(static_cast<std::size_t>(lost - leases.data()), stores).wish.store;
    found.name = lost->name();
    found.token = lost->token().value();
    found.locks = fmt::format("the lock '{}'{}", printable(found.name),
                              found.store.empty() ? "" : " of " + printable(found.store));
  }
  if (!found.locks.empty()) return found;
  for (const store_locks& each : stores) {
    found.locks += fmt::format("{}{}{}", found.locks.empty() ? "" : " or ",
                               each.wish.others.empty() ? "" : "one of ", locks_text(each.wish));
  }
  return found;
}

/// Keeps the lock by staying after the command.
/// \return false if it was lost meanwhile.
bool stays(const run_command& request, const lease_set& held, const std::vector<store_locks>& stores,
           boot_clock::time_point until, signal_inbox& signals) {
  if (held.lost().stop_requested()) return true;  // it was lost while the command ran
  stay(held.lost(), until, signals);
  if (!held.lost().stop_requested()) return true;
  if (!request.store.json) {
    const auto lost = loss_of(held, stores, false);
    complain(fmt::format("holdfast: {} was lost after '{}' had ended, before --at-least was over. {}\n",
                         lost.locks, printable(request.command.front()), sentence_of(lost.reason)));
  }
  return false;
}

/// What --json prints of a run.
json report_of(const run_command& request, const ending& end, const run_result& result, int status,
               const std::string& also_store) {
  json object{{"name", request.wish.name},
              {"token", result.tokens.front().second},
              {"waited_s", to_seconds(result.held_at - result.requested_at)},
              {"held_s", to_seconds(result.ended_at - result.held_at)},
              {"lost", end.lost}};
  if (end.lost) object["reason"] = to_string(result.lost.reason);
  if (end.lost && !result.lost.name.empty()) object["lost_name"] = result.lost.name;
  if (end.lost && !result.lost.store.empty()) object["lost_store"] = result.lost.store;
  for (std::size_t each = 1; each < result.tokens.size(); ++each) {
    const auto& [name, token] = result.tokens[each];
    object["others"].push_back({{"name", name}, {"token", token}});
  }
  if (result.also_token) {
    object["also"] = {{"name", request.also->name}, {"store", also_store}, {"token", *result.also_token}};
  }
  if (end.request)
    object["release_requested"] = {{"name", end.request->name}, {"reason", end.request->reason}};
  if (end.left_workers) object["workers_ended"] = true;
  object["command_status"] = end.status;
  object["status"] = status;
  return object;
}

/// \param ended whether the command was made to end, and did not end by itself.
int conclude(const run_command& request, const ending& end, bool ended, const run_result& result,
             const std::string& also_store) {
  const int status = end.lost ? request.lost_status : end.status;
  if (request.store.json) {
    print_line(report_of(request, end, result, status, also_store), stderr);
  } else if (end.lost) {
    const auto command = printable(request.command.front());
    const auto token = result.lost.token ? fmt::format(" (token {})", *result.lost.token) : "";
    complain(fmt::format("holdfast: {}{} {}. {}. Others may hold the lock now\n", result.lost.locks, token,
                         loss_text(command, end, ended), sentence_of(result.lost.reason)));
  }
  return status;
}

/// A store whose locks live with a session asks for one that lives as long. And who holds the lock is asked
/// for beside the wait for it, and not to hold that up where the store does not answer.
client_options options_for(const run_command& request, const program& command,
                           const std::shared_ptr<event>& troubled) {
  client_options options;
  options.program(command.title("run"));
  options.locks(lock_options{}
                    .ttl(request.wish.ttl.value_or(lock_options{}.ttl()))
                    .retry(retry_policy{}.limit(std::chrono::seconds{2})));
  options.flush_limit(flush_limit);
  options.observer([troubled](const holdfast::event& seen) {
    if (seen.kind == event_kind::trouble) troubled->raise();
  });
  return options;
}

/// Releases the locks of the last store first. \return whether one of them had ended before.
bool release_all(std::vector<store_locks>& stores, lease_set& held, bool warns) {
  std::vector<client*> clients;
  std::string subject;
  for (auto each = stores.rbegin(); each != stores.rend(); ++each) {
    clients.push_back(&each->locks);
    subject += fmt::format("{}{}", subject.empty() ? "" : " or ", locks_text(each->wish));
  }
  return lost_at_release(clients, [&] { return held.release(); }, subject, warns);
}

}  // namespace

int perform(const run_command& request) {
  require_distinct_names(request.wish);
  require_one_name(request);
  const auto pipe_signal = take_over_signals();
  signal_inbox signals{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                       SIGALRM, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD, SIGTTOU};
  const program command{request.command};
  const auto troubled = std::make_shared<event>();
  std::optional<file_lock> file;  // unlocked after all others
  auto stores = open_stores(request, options_for(request, command, troubled));

  run_result result;
  result.requested_at = boot_clock::now();
  if (const auto status = lock_file(request, file, signals, result.requested_at)) return *status;
  auto acquired =
      acquire_all(request, stores, signals, request.quiet || request.store.json ? nullptr : troubled.get(),
                  result.requested_at);
  if (const int* status = std::get_if<int>(&acquired)) return *status;

  auto& held = std::get<lease_set>(acquired);
  result.held_at = boot_clock::now();
  const auto ttl = request.wish.ttl.value_or(lock_options{}.ttl());
  hold under = hold_of(held);
  if (request.also) {  // its token is of another store, and means nothing to what the command writes to
    result.also_token = under.tokens.front().second;
    under.tokens.erase(under.tokens.begin());
  }
  result.tokens = under.tokens;
  auto end = run_under(under, ttl, command, signals, {signals.mask_before(), pipe_signal}, true,
                       {request.request_signal, request.store.json});
  const bool has_to_stay = request.wish.at_least && std::ranges::any_of(stores, [](const store_locks& each) {
                             return !each.wish.at_least;
                           });
  const bool lost_later = has_to_stay && !end.lost && !end.interrupted_by &&
                          !stays(request, held, stores, result.held_at + *request.wish.at_least, signals);
  result.ended_at = boot_clock::now();
  const bool ended = end.lost;
  result.lost = loss_of(held, stores, ended);
  const bool lost_at_end = release_all(stores, held, !request.store.json && !end.lost);
  end.lost = end.lost || (lost_at_end && !lost_later);
  file.reset();  // a signal that ends this process after close() would leave it to what the command has left
  // Not sooner: a second Ctrl-C would end this process, and the lock would stay held for its ttl.
  signals.discard();
  signals.close();
  return conclude(request, end, ended, result, stores.front().wish.store);
}

}  // namespace holdfast::cli
