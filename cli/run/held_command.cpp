// SPDX-License-Identifier: Apache-2.0
#include "run/held_command.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <future>

#include "failure.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "run/guardian.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

void (*take_over_signals() noexcept)(int) {
  ::signal(SIGCHLD, SIG_DFL);  // if a parent left it ignored, the child's status would be lost
  // A killed guardian does not read its pipe: SIGPIPE must not end this process.
  return ::signal(SIGPIPE, SIG_IGN);
}

namespace {

/// The lease may end, and nobody can end the command.
failure refused_signal(const program& command, pid_t group) {
  return {permission_denied,
          fmt::format("cannot signal '{}' (process {}): it runs as another user. It goes on if the lease is "
                      "lost, and another holder may run beside it. Run holdfast as that user instead",
                      command.name(), group)};
}

/// \param end of a command that was killed, and has left processes of its group.
void tell_of_workers(const program& command, const ending& end) {
  complain(
      fmt::format("holdfast: signal {} ended '{}', and processes that it had started still ran; they "
                  "were ended, too, before the release\n",
                  end.status - killed_by_signal, printable(command.name())));
}

/// Ctrl-C and the loss of a terminal end a job as a whole, some of its processes a little later.
bool ends_whole_job(const ending& end) {
  const int number = end.status - killed_by_signal;
  return end.interrupted_by || number == SIGHUP || number == SIGINT || number == SIGQUIT;
}

}  // namespace

ending run_under(const hold& held, duration ttl, const program& command, signal_inbox& signals,
                 const inherited_signals& inherited, bool shares_terminal,
                 const request_response& on_request) {
  child_process child{command, environment_for(held), inherited};
  // It ends before the child is reaped, also by an exception: it may kill the group then, and the group's
  // number may belong to others afterwards.
  guardian guard;
  child.on_refusal(
      [&, in_json = on_request.in_json] { report(refused_signal(command, child.group()), in_json); });
  const auto respond = [&](child_process& job, const release_request& request) {
    if (on_request.signal) {
      job.signal_group(*on_request.signal);
      job.signal_group(SIGCONT);  // a stopped process handles no signal
    } else if (!on_request.in_json) {
      complain(
          fmt::format("holdfast: somebody asks this job to release '{}'{}. It goes on; --on-request TERM "
                      "would end it\n",
                      printable(request.name),
                      request.reason.empty() ? "" : fmt::format(" ({})", printable(request.reason))));
    }
  };
  // If a lease ends with a session, the shorter lifetime decides how long the command has to end.
  auto end =
      supervisor{held, std::min(ttl, held.remaining), child, guard, signals, shares_terminal, respond}.run();
  if (end.left_workers && !on_request.in_json && !ends_whole_job(end)) tell_of_workers(command, end);
  return end;
}

bool lost_at_release(const std::vector<client*>& clients, const std::function<std::error_code()>& release,
                     const std::string& subject, bool warns) {
  constexpr std::chrono::seconds patience{5};
  // Deferred if no thread can be created: the command's status matters more than a short wait.
  auto released = std::async(std::launch::async | std::launch::deferred, release);
  for (client* each : clients) {
    if (released.wait_for(patience) != std::future_status::timeout) break;
    each->close();  // which ends the attempt
  }
  const auto code = released.get();
  if (code && code != errc::lost && warns) {
    complain(
        fmt::format("holdfast: the release of {} could not be confirmed ({}). A lock ends by itself when its "
                    "lease expires\n",
                    subject, code.message()));
  }
  return code == errc::lost;
}

std::string loss_text(const std::string& command, const ending& end, bool ended) {
  if (ended) return fmt::format("was lost while '{0}' ran; '{0}' was ended", command);
  return fmt::format("was lost before its release; '{}' had ended by itself with status {}", command,
                     end.status);
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

}  // namespace holdfast::cli
