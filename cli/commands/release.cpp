// SPDX-License-Identifier: Apache-2.0
#include "commands/release.hpp"

#include <fmt/format.h>
#include <optional>

#include "exit_status.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/shell.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "release_request.hpp"

namespace holdfast::cli {

namespace {

std::optional<fencing_token> token_of(const release_command& request) {
  if (!request.token) return std::nullopt;
  return fencing_token{static_cast<std::uint64_t>(*request.token)};
}

std::size_t end_holds(const client& locks, const release_command& request) {
  const auto token = token_of(request);
  return token ? (locks.force_release(request.name, *token) ? 1 : 0) : locks.force_release(request.name);
}

/// What whoever asks again has to know: the stop token of a holder fires once.
std::string note_on_former(std::size_t before, std::size_t count) {
  if (before == 0) return {};
  const auto holders = count == 1 ? "it was" : before == 1 ? "one was" : fmt::format("{} were", before);
  return fmt::format("; {} asked before, and a holder hears of the first request only", holders);
}

/// What a server that was not heard holds stays there until its ttl.
void print_unheard(const client& locks, const std::string& name) {
  try {
    for (const auto& note : locks.inspect(name, 0).value_or(lock_state{}).notes)
      if (!note.answers)
        complain(
            fmt::format("holdfast release: note: {}; a hold there stays until its ttl\n", to_text(note)));
  } catch (const error&) {  // the hold was ended, and that was the task
  }
}

void print_nobody(const release_command& request) {
  fmt::print("nobody {} the lock '{}'{}{}\n", request.ask ? "holds" : "held", printable(request.name),
             request.token ? fmt::format(" with the token {}", *request.token) : "",
             note_of_default(request.store));
}

/// That nothing has changed yet. \param store_url its password masked.
void print_asked(const release_command& request, const std::string& store_url,
                 const request_outcome& outcome) {
  const bool is_one = outcome.holders == 1;
  const auto holder = outcome.one ? fmt::format(" ({})", to_text(*outcome.one)) : "";
  fmt::print(
      "asked {}{} of the lock '{}' to release it{}. {}, and nothing changes before. "
      "To wait for that: holdfast wait {}{}\n",
      is_one ? "the holder" : fmt::format("{} holders", outcome.holders), is_one ? holder : "",
      printable(request.name), note_on_former(outcome.asked_before.value_or(0), outcome.holders),
      is_one ? "The holder decides" : "The holders decide",
      store_options(request.store.url.empty() ? std::string{} : store_url, request.store.password_file),
      in_shell(request.name));
}

/// \return the exit status.
int ask(const release_command& request) {
  const auto locks = open_client(request.store);
  const auto outcome = ask_to_release(locks, request.name, token_of(request), request.reason);
  if (request.store.json) {
    json line{{"name", request.name}, {"asked", outcome.holders}};
    if (outcome.asked_before) line["asked_before"] = *outcome.asked_before;
    if (outcome.rest) line["released"] = true;
    print_line(line);
  } else if (outcome.rest) {
    fmt::print(
        "the holder of the lock '{}' has released it, and the store keeps it for {} more; "
        "release --force ends that\n",
        printable(request.name), to_text(*outcome.rest));
  } else if (outcome.holders == 0) {
    print_nobody(request);
  } else {
    print_asked(request, locks.url(), outcome);
  }
  return outcome.holders == 0 ? no_match : success;
}

}  // namespace

int perform(const release_command& request) {
  if (request.ask && request.force) throw failure{bad_usage, "release takes --ask or --force, not both"};
  if (!request.ask && !request.force) {
    throw failure{bad_usage,
                  fmt::format("release needs --ask or --force. --ask asks the holder of the lock '{}' "
                              "to release it. --force takes it from the holder, which is notified, "
                              "but release does not wait for it. Only the fencing token stops what "
                              "the holder still writes",
                              request.name)};
  }
  if (request.ask) return ask(request);
  if (!request.reason.empty()) throw failure{bad_usage, "--reason goes with --ask"};
  const auto locks = open_client(request.store);
  const auto ended = end_holds(locks, request);
  if (request.store.json) {
    print_line({{"name", request.name}, {"ended", ended}});
  } else if (ended == 0) {
    print_nobody(request);
  } else {
    fmt::print("ended {} of the lock '{}'\n", ended == 1 ? "the hold" : fmt::format("{} holds", ended),
               printable(request.name));
  }
  if (ended == 0) return no_match;
  print_unheard(locks, request.name);
  return success;
}

}  // namespace holdfast::cli
