// SPDX-License-Identifier: Apache-2.0
#include "commands/fence.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <string>
#include <unistd.h>

#include "claim.hpp"
#include "exit_status.hpp"
#include "failure.hpp"
#include "run/child.hpp"
#include "run/guardian.hpp"
#include "run/held_command.hpp"
#include "run/program.hpp"
#include "run/run_wait.hpp"
#include "run/supervisor.hpp"
#include "signal_inbox.hpp"
#include <holdfast/boot_clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/fence.hpp>

namespace holdfast::cli {

namespace {

/// A file is the fence of one resource.
constexpr const char* resource = "file";

fencing_token token_of(const fence_command& request) {
  if (request.token) return fencing_token{static_cast<std::uint64_t>(*request.token)};
  const char* set = std::getenv("HOLDFAST_TOKEN");
  if (set == nullptr || *set == '\0') {
    throw failure{
        bad_usage,
        "there is no token. Use 'fence' in the command of 'holdfast run' or 'holdfast elect', which "
        "set HOLDFAST_TOKEN, or give --token"};
  }
  const auto number = positive_number(set);
  if (!number) throw failure{bad_usage, fmt::format("HOLDFAST_TOKEN: '{}' is not a number above 0", set)};
  return fencing_token{static_cast<std::uint64_t>(*number)};
}

/// \return the signal that interrupted the wait for others that use the file.
std::optional<int> open_fence(std::optional<fence>& opened, const fence_command& request,
                              signal_inbox& signals) {
  constexpr std::chrono::milliseconds pause{20};
  const auto until = boot_clock::now() + request.wait.value_or(duration::zero());
  for (;;) {
    try {
      opened.emplace(request.file);
      return std::nullopt;
    } catch (const error& busy) {
      if (busy.code() != errc::timeout) throw;
      if (request.wait && boot_clock::now() >= until) throw;
    }
    if (const auto number = await_time(pause, signals, requests_end)) return number;
  }
}

/// How long what the command leaves in its group has, when a signal ended the command: see kill_delay_of.
constexpr std::chrono::minutes ttl{1};

/// Nobody takes the file away, so the command has no deadline.
hold without_deadline() {
  return {{}, [] { return boot_clock::time_point::max(); }, {}, {}, {}, ttl};
}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
  return variables;
}

}  // namespace

int perform(const fence_command& request) {
  const auto token = token_of(request);
  const auto pipe_signal = take_over_signals();
  signal_inbox signals{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                       SIGALRM, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD, SIGTTOU};
  const program command{request.command};

  std::optional<fence> opened;
  if (const auto number = open_fence(opened, request, signals)) return killed_by_signal + *number;
  if (!opened->admit(resource, token)) {
    throw failure{
        stale_token,
        fmt::format("'{}' was not run: its token {} is smaller than {}, which {} remembers: a later holder "
                    "has run, or one with a larger token_base",
                    command.name(), token.value(), opened->largest(resource).value(), request.file)};
  }
  const hold forever = without_deadline();
  // The command inherits the file. If this process is killed and the command goes on, a newer holder's waits.
  checked(::fcntl(opened->native_handle(), F_SETFD, 0), "fcntl");
  child_process child{command, own_environment(), {signals.mask_before(), pipe_signal}};
  // Ends the command if this process is killed, so that nobody waits for it.
  guardian guard;
  const auto end = supervisor{forever, ttl, child, guard, signals, true, {}}.run();
  opened.reset();
  signals.discard();
  signals.close();
  return end.status;
}

}  // namespace holdfast::cli
