#include "commands/release.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "exit_status.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"

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

/// The holders that a request is for, as they are before it. Empty where the user may not look.
std::optional<std::vector<claim_state>> holders_to_ask(const client& locks, const release_command& request) {
  try {
    auto holders = locks.inspect(request.name, 0).value_or(lock_state{}).holders;
    std::erase_if(holders, [token = token_of(request)](const claim_state& each) {
      return each.claimant.released || (token && each.token != *token);
    });
    return holders;
  } catch (const error& refused) {
    if (refused.code() != errc::permission_denied) throw;
    return std::nullopt;
  }
}

std::size_t ask_one(const client& locks, const std::string& name, fencing_token token,
                    const std::string& reason) {
  return locks.request_release(name, token, reason) ? 1 : 0;
}

/// The reason of the request before, as far as a new request may have it: another library's may be longer.
std::string former_reason(const claim_state& holder) {
  const auto reason = holder.claimant.release_request.value_or("");
  return reason.size() <= client::longest_reason && printable(reason) == reason ? reason : std::string{};
}

/// The store has the reason of the last request. One without a reason must not erase a former one.
std::size_t ask_holders(const client& locks, const release_command& request,
                        const std::vector<claim_state>& holders) {
  const bool keeps_reasons =
      request.reason.empty() && std::ranges::any_of(holders, [&](const claim_state& each) {
        return each.token && !former_reason(each).empty();
      });
  if (!keeps_reasons) {
    const auto token = token_of(request);
    return token ? ask_one(locks, request.name, *token, request.reason)
                 : locks.request_release(request.name, request.reason);
  }
  std::size_t count = 0;
  for (const auto& each : holders)
    if (each.token) count += ask_one(locks, request.name, each.token, former_reason(each));
  return count;
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
    for (const auto& note : locks.inspect(name).value_or(lock_state{}).notes)
      if (!note.answers)
        complain(
            fmt::format("holdfast release: note: {}; a hold there stays until its ttl\n", to_text(note)));
  } catch (const error&) {  // the hold was ended, and that was the task
  }
}

void print_nobody(const release_command& request) {
  fmt::print("nobody {} the lock '{}'{}\n", request.ask ? "holds" : "held", printable(request.name),
             request.token ? fmt::format(" with the token {}", *request.token) : "");
}

/// How long the name rests after a release (see lock_options::at_least): nobody hears a request then.
std::optional<duration> rest_of(const client& locks, const release_command& request) {
  try {
    const auto state = locks.inspect(request.name);
    if (!state || state->holders.empty()) return std::nullopt;
    duration left{};
    for (const auto& each : state->holders) {
      if (!each.claimant.released) return std::nullopt;
      left = std::max(left, each.expires_in);
    }
    return left;
  } catch (const error&) {  // the request is out, and that was the task
    return std::nullopt;
  }
}

/// \return the exit status.
int ask(const release_command& request) {
  const auto locks = open_client(request.store);
  const auto holders = holders_to_ask(locks, request);
  const auto count = ask_holders(locks, request, holders.value_or(std::vector<claim_state>{}));
  const auto before =
      holders
          ? std::ranges::count_if(
                *holders, [](const claim_state& each) { return each.claimant.release_request.has_value(); })
          : 0;
  const auto rest = count == 0 ? std::nullopt : rest_of(locks, request);
  if (request.store.json) {
    // A hold that rests counts at the store, but nobody hears the request.
    json line{{"name", request.name}, {"asked", rest ? 0 : count}};
    if (holders) line["asked_before"] = before;
    if (rest) line["released"] = true;
    print_line(line);
  } else if (rest) {
    fmt::print(
        "the holder of the lock '{}' has released it, and the store keeps it for {} more; "
        "release --force ends that\n",
        printable(request.name), to_text(*rest));
  } else if (count == 0) {
    print_nobody(request);
  } else {
    fmt::print("asked {} of the lock '{}' to release it{}\n",
               count == 1 ? "the holder" : fmt::format("{} holders", count), printable(request.name),
               note_on_former(static_cast<std::size_t>(before), count));
  }
  return count == 0 || rest ? no_match : success;
}

}  // namespace

int perform(const release_command& request) {
  if (request.ask == request.force) {
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
  if (ended != 0) print_unheard(locks, request.name);
  return 0;
}

}  // namespace holdfast::cli
