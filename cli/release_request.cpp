// SPDX-License-Identifier: Apache-2.0
#include "release_request.hpp"

#include <algorithm>
#include <vector>

#include "output/text.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// The holds that a request is for, those that rest among them.
std::vector<claim_state> holds_meant(const client& locks, const std::string& name,
                                     std::optional<fencing_token> token) {
  auto holders = locks.inspect(name, 0).value_or(lock_state{}).holders;
  std::erase_if(holders, [&](const claim_state& each) { return token && each.token != *token; });
  return holders;
}

/// As they are before the request. Empty where the user may not look, but may ask.
std::optional<std::vector<claim_state>> holds_before(const client& locks, const std::string& name,
                                                     std::optional<fencing_token> token) {
  try {
    return holds_meant(locks, name, token);
  } catch (const error& refused) {
    if (refused.code() != errc::permission_denied) throw;
    return std::nullopt;
  }
}

/// The reason of the request before, as far as a new request may have it: another library's may be longer.
std::string former_reason(const claim_state& holder) {
  const auto reason = holder.claimant.release_request.value_or("");
  return reason.size() <= client::longest_reason && printable(reason) == reason ? reason : std::string{};
}

std::size_t ask_one(const client& locks, const std::string& name, fencing_token token,
                    const std::string& reason) {
  return locks.request_release(name, token, reason) ? 1 : 0;
}

/// \return how many holds the store has noted the request with.
std::size_t send_request(const client& locks, const std::string& name, std::optional<fencing_token> token,
                         const std::string& reason, const std::vector<claim_state>& holders) {
  const bool keeps_reasons = reason.empty() && std::ranges::any_of(holders, [](const claim_state& each) {
                               return each.token && !former_reason(each).empty();
                             });
  if (!keeps_reasons)
    return token ? ask_one(locks, name, *token, reason) : locks.request_release(name, reason);
  std::size_t count = 0;
  for (const auto& each : holders)
    if (each.token) count += ask_one(locks, name, each.token, former_reason(each));
  return count;
}

/// A holder may have released between the look before the request and the request. Exclusive holds alone are
/// known to rest, so either all do or none.
void leave_out_resting(request_outcome& outcome, const std::vector<claim_state>& after) {
  if (after.empty()) return;
  outcome.one = after.front().claimant;
  duration left{};
  for (const auto& each : after) {
    if (!each.claimant.released) return;
    left = std::max(left, each.expires_in);
  }
  outcome.holders = 0;
  outcome.rest = left;
}

}  // namespace

request_outcome ask_to_release(const client& locks, const std::string& name,
                               std::optional<fencing_token> token, const std::string& reason) {
  const auto before = holds_before(locks, name, token);
  request_outcome outcome;
  outcome.holders = send_request(locks, name, token, reason, before.value_or(std::vector<claim_state>{}));
  if (before) {
    outcome.asked_before =
        static_cast<std::size_t>(std::ranges::count_if(*before, [](const claim_state& each) {
          return !each.claimant.released && each.claimant.release_request;
        }));
  }
  if (outcome.holders == 0) return outcome;
  try {
    leave_out_resting(outcome, holds_meant(locks, name, token));
  } catch (const error&) {  // the request is out, and that was the task
  }
  return outcome;
}

}  // namespace holdfast::cli
