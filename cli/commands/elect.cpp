// SPDX-License-Identifier: Apache-2.0
#include "commands/elect.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>
#include <utility>

#include "descriptor.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "run/held_command.hpp"
#include "run/program.hpp"
#include "run/run_wait.hpp"
#include <holdfast/election.hpp>
#include <holdfast/event.hpp>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// A command that ends sooner is not started again at once.
constexpr duration short_run = 10s;
constexpr duration first_pause = 1s;
constexpr duration longest_pause = 30s;
/// For withdrawing the candidate, and for the release, when the client is closed.
constexpr duration flush_limit = 1s;

std::string host_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

bool has_terminal() {
  return static_cast<bool>(descriptor{::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)});
}

/// Tells that a campaign waits for the store: each change of the error, until the store has answered. On a
/// terminal the line of the wait says so.
void tell_of_trouble(const holdfast::event& seen, bool in_json) {
  if (seen.kind != event_kind::trouble || (!in_json && is_terminal(stderr))) return;
  report({cli::status_of(seen.code),
          fmt::format("the candidate for '{}' goes on waiting: {}", seen.name, seen.text)},
         in_json);
}

/// One candidate, term after term.
class candidacy {
 public:
  explicit candidacy(const elect_command& request) : request_{request} {}

  /// \return the exit status. \throws failure, error: what ends a candidate that has led nothing yet.
  int run() {
    static_cast<void>(program{request_.command});  // a mistyped command must not become a leader
    for (;;) {
      if (const auto status = serve()) return *status;
      if (const auto number = pause()) return killed_by_signal + *number;
    }
  }

 private:
  /// One term, with the campaign for it. Errors that may pass end the term alone.
  /// \return the exit status; empty: the candidate goes on.
  std::optional<int> serve() {
    try {
      // It may have been replaced since the last term, and be missing for a moment.
      const program command{request_.command};
      return campaign(command);
    } catch (const failure& problem) {
      if (!has_led_ || request_.once) throw;
      report(problem, request_.store.json);
    } catch (const std::system_error& cause) {
      if (!has_led_ || request_.once) throw;
      report(to_failure(cause), request_.store.json);
    }
    pauses_ = true;
    return std::nullopt;
  }

  std::optional<int> campaign(const program& command) {
    const lock_options lease = options_of(request_.wish);
    client_options options;
    options.program(command.title("elect")).locks(lease).flush_limit(flush_limit);
    options.observer([in_json = request_.store.json, stands_by = false](const holdfast::event& seen) mutable {
      stands_by = stands_by || seen.kind == event_kind::queued;  // before that, an error ends the campaign
      if (stands_by) tell_of_trouble(seen, in_json);
    });
    // One for each term: it is closed where the store does not confirm a release.
    auto locks = open_client(request_.store, options);
    const auto requested_at = boot_clock::now();
    std::optional<term> won;
    const auto interrupted_by = await_call(
        locks, request_.wish, signals_, [this](int number) { return ends(number); }, nullptr,
        [&] {
          won = election{locks, request_.wish.name}.campaign(request_.value.empty() ? host_name()
                                                                                    : request_.value);
        });
    if (interrupted_by) return killed_by_signal + *interrupted_by;
    return lead(locks, *won, command, lease.ttl(), boot_clock::now() - requested_at);
  }

  std::optional<int> lead(client& locks, term& held, const program& command, duration ttl,
                          boot_clock::duration waited) {
    const auto began = boot_clock::now();
    const auto token = held.token().value();
    auto end = run_under(hold_of(held), ttl, command, signals_, {signals_.mask_before(), pipe_signal_}, false,
                         {request_.request_signal, request_.store.json});
    has_led_ = true;  // not before: a command that cannot be executed ends the candidate
    const auto lasted = std::chrono::ceil<duration>(boot_clock::now() - began);
    const auto reason =
        held.loss().value_or(end.lost ? loss_reason::not_renewed : loss_reason::ended_at_store);
    const bool ended = end.lost;
    end.lost = lost_at_release(
                   {&locks}, [&] { return held.resign(); }, locks_text(request_.wish),
                   !request_.store.json && !end.lost) ||
               end.lost;
    tell(end, ended, token, reason, waited, lasted);
    // A command on the keyboard's side of the terminal gets Ctrl-C alone.
    const bool interrupted = end.interrupted_by || end.status == killed_by_signal + SIGINT ||
                             end.status == killed_by_signal + SIGQUIT || has_lost_terminal();
    if (interrupted) return end.status;
    if (request_.once) return end.lost ? request_.lost_status : end.status;
    pauses_ = lasted < short_run;
    if (!pauses_) next_pause_ = first_pause;
    return std::nullopt;
  }

  /// After what ended at once, so that neither the store nor this machine is kept busy. The candidate does
  /// not stand by meanwhile: another may lead.
  std::optional<int> pause() {
    if (!std::exchange(pauses_, false)) return std::nullopt;
    const auto length = next_pause_;
    next_pause_ = std::min(2 * next_pause_, longest_pause);
    return await_time(length, signals_, [this](int number) { return ends(number); });
  }

  void tell(const ending& end, bool ended, std::uint64_t token, loss_reason reason,
            boot_clock::duration waited, duration lasted) const {
    if (request_.store.json) {
      json object{{"name", request_.wish.name},
                  {"token", token},
                  {"waited_s", to_seconds(waited)},
                  {"held_s", to_seconds(lasted)},
                  {"lost", end.lost}};
      if (end.lost) object["reason"] = to_string(reason);
      if (end.request)
        object["release_requested"] = {{"name", end.request->name}, {"reason", end.request->reason}};
      if (end.left_workers) object["workers_ended"] = true;
      object["command_status"] = end.status;
      return print_line(object, stderr);
    }
    const auto command = printable(request_.command.front());
    if (end.lost) {
      complain(fmt::format("holdfast: the leadership of '{}' (token {}) {}. {}. Another may lead now\n",
                           printable(request_.wish.name), token, loss_text(command, end, ended),
                           sentence_of(reason)));
    } else if (!request_.once && end.status != success && !end.interrupted_by) {
      complain(fmt::format("holdfast: '{}' ended with status {} after {}; '{}' is resigned\n", command,
                           end.status, to_text(lasted), printable(request_.wish.name)));
    }
  }

  /// Services are sent SIGHUP to make them read their configuration again. It ends a candidate only with the
  /// terminal.
  [[nodiscard]] bool ends(int number) const {
    return number == SIGINT || number == SIGQUIT || number == SIGTERM ||
           (number == SIGHUP && has_lost_terminal());
  }
  [[nodiscard]] bool has_lost_terminal() const { return had_terminal_ && !has_terminal(); }

  const elect_command& request_;
  void (*pipe_signal_)(int) = take_over_signals();
  bool had_terminal_ = has_terminal();
  signal_inbox signals_{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                        SIGALRM, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD, SIGTTOU};
  bool has_led_ = false;
  bool pauses_ = false;  // before the next campaign
  duration next_pause_ = first_pause;
};

}  // namespace

int perform(const elect_command& request) { return candidacy{request}.run(); }

}  // namespace holdfast::cli
