// SPDX-License-Identifier: Apache-2.0
#include "top/lock_view.hpp"

#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "output/text.hpp"

namespace holdfast::cli {

namespace {

/// The hold of another library has no token, and its age is not known.
std::string times_of_hold(const claim_state& holder) {
  if (holder.token) return "for " + to_text(holder.age);
  return has_end(holder) ? "expires in " + to_text(holder.expires_in) : "does not expire";
}

std::string line_of(std::string_view title, const claim_state& claim, const std::string& times) {
  const auto token = claim.token ? fmt::format(", token {}", claim.token.value()) : std::string{};
  const auto* const end = claim.claimant.released ? ", released" : "";
  return fmt::format("{:<8} {}  {}{}{}", title, to_text(claim.claimant), times, token, end);
}

/// What stands before the queue.
std::vector<std::string> lines_of_holders(const lock_state& lock) {
  std::vector<std::string> all;
  if (lock.holders.empty() && lock.waiters.empty()) all.emplace_back("free");
  if (!lock.pause_reason.empty()) all.push_back("nothing is granted now: " + printable(lock.pause_reason));
  for (const auto& holder : lock.holders) {
    all.push_back(line_of("held by", holder, times_of_hold(holder)));
    if (const auto& request = holder.claimant.release_request) {
      all.push_back(
          fmt::format("         asked to release{}{}", request->empty() ? "" : ": ", printable(*request)));
    }
  }
  for (const auto& note : lock.notes) all.push_back("note: " + to_text(note));
  return all;
}

}  // namespace

std::string title_of(const lock_state& lock, std::size_t most) {
  const auto count = lock.waiters.size();
  return fmt::format("{}: {}{} waiting", printable(lock.name), count == most ? "at least " : "", count);
}

std::vector<std::string> lines_of(const lock_state& lock, std::size_t room) {
  auto all = lines_of_holders(lock);
  const std::size_t before_queue = all.size();
  for (std::size_t i = 0; i < lock.waiters.size(); ++i) {
    const claim_state& waiter = lock.waiters[i];
    all.push_back(line_of(fmt::format("{}.", i + 1), waiter, "waiting for " + to_text(waiter.age)));
  }
  if (all.size() <= room) return all;
  const std::size_t kept = room == 0 ? 0 : room - 1;
  const std::size_t left_out = all.size() - kept;
  all.resize(kept);
  if (room != 0)
    all.push_back(fmt::format("… and {} more{}", left_out, kept < before_queue ? " lines" : " in the queue"));
  return all;
}

}  // namespace holdfast::cli
