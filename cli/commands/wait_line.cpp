// SPDX-License-Identifier: Apache-2.0
#include "commands/wait_line.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <optional>
#include <unistd.h>
#include <utility>

#include "output/text.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// is_own() of all claims.
auto own_since(boot_clock::time_point requested_at) {
  return [requested_at](const claim_state& claim) { return is_own(claim, requested_at); };
}

/// Whether other holders keep the name from being held in that way.
bool is_in_the_way(const lock_spec& wanted, const lock_state& lock, boot_clock::time_point requested_at) {
  std::int64_t permits = 0;
  bool held = false;
  bool held_alone = false;
  for (const claim_state& holder : lock.holders) {
    if (is_own(holder, requested_at)) continue;
    held = true;
    held_alone = held_alone || holder.mode != mode::shared;
    permits += holder.permits;
  }
  switch (wanted.mode()) {
    case mode::exclusive: return held;
    case mode::shared: return held_alone;
    case mode::permits: return permits + wanted.count() > wanted.capacity();
  }
  return held;
}

}  // namespace

wait_line::wait_line(const client& locks, claim wish, boot_clock::time_point requested_at)
    : locks_{locks}, wish_{std::move(wish)}, since_{requested_at} {
  if (!line_.on()) return;
  for (const lock_spec& each : names_of(wish_))
    watches_.push_back(locks_.watch(each.name(), [changed = changed_] { changed->raise(); }));
}

int wait_line::get() const noexcept { return line_.on() ? changed_->get() : -1; }

void wait_line::draw() {
  if (!line_.on()) return;
  changed_->take();
  line_.show(text());
}

std::pair<std::string, std::string> wait_line::place_in(const lock_state& lock) {
  const auto own = std::ranges::find_if(lock.waiters, own_since(since_));
  if (own == lock.waiters.end()) return {};
  const auto ahead = own - lock.waiters.begin();
  auto place =
      ahead == 0 ? std::string{"next in the queue; "} : fmt::format("{} ahead in the queue; ", ahead);
  // Of several names the turn in one queue is not the end of the wait.
  if (!wish_.others.empty() || wish_.election) return {place, {}};
  const auto now = boot_clock::now();
  pace_.see(lock, now);
  const auto turn = pace_.turn(lock, static_cast<std::size_t>(ahead), now);
  if (!turn) return {place, {}};
  place += fmt::format("our turn in about {}; ", to_text(rounded_estimate(turn->until_turn)));
  return {place, fmt::format(", at {}", pace_text(*turn))};
}

std::string wait_line::text() {
  using namespace std::chrono;
  const auto waited = to_text(duration_cast<duration>(boot_clock::now() - since_));
  const auto start = fmt::format("waiting {} for {}", waited, locks_text(wish_));
  try {
    const auto [name, lock] =
        obstacle_of(locks_, wish_, since_, std::numeric_limits<std::size_t>::max(), std::nullopt);
    // First what a terminal of 80 columns has room for.
    if (!lock.pause_reason.empty()) {
      return fmt::format("{}: nothing is granted for {} more: {}", start, to_text(lock.paused_for),
                         printable(lock.pause_reason));
    }
    if (lock.holders.empty()) return start;
    const auto which = wish_.others.empty() ? "" : fmt::format("'{}' is ", printable(name));
    const auto [place, pace] = place_in(lock);
    return fmt::format("{}: {}{}{}{}", start, place, which, holders_text(lock), pace);
  } catch (const error&) {
    return start + ": the store does not answer";
  }
}

obstacle obstacle_of(const client& locks, const claim& wish, boot_clock::time_point requested_at,
                     std::size_t most_waiters, std::optional<boot_clock::time_point> until) {
  enum class rank : std::uint8_t { free, held, in_the_way, waited_for };
  std::optional<obstacle> found;
  rank best = rank::free;
  const auto own = own_since(requested_at);
  for (const lock_spec& each : names_of(wish)) {
    obstacle seen{each.name(), locks.inspect(each.name(), most_waiters).value_or(lock_state{})};
    const bool is_held = std::ranges::any_of(seen.state.holders, std::not_fn(own));
    const bool is_in_way = !seen.state.pause_reason.empty() || is_in_the_way(each, seen.state, requested_at);
    const rank of_this = std::ranges::any_of(seen.state.waiters, own) ? rank::waited_for
                         : is_in_way                                  ? rank::in_the_way
                         : is_held                                    ? rank::held
                                                                      : rank::free;
    if (!found || of_this > best) {
      found = std::move(seen);
      best = of_this;
    }
    if (best == (most_waiters == 0 ? rank::in_the_way : rank::waited_for)) break;
    if (until && boot_clock::now() >= *until) break;
  }
  return std::move(*found);
}

bool is_own(const claim_state& claim, boot_clock::time_point requested_at) {
  if (claim.claimant.pid != ::getpid() || claim.claimant.released) return false;
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  if (claim.claimant.host != host.data()) return false;
  // The clocks of stores are only about as fast as ours. ZooKeeper's age is the difference of two hosts'
  // clocks, which NTP keeps within a second; a container takes longer than that to start anew.
  const auto passed = boot_clock::now() - requested_at;
  return claim.age <= passed + passed / 1000 + std::chrono::seconds{1};
}

std::string holders_text(const lock_state& lock) {
  if (lock.holders.empty()) return "held by nobody now";
  const auto& first = lock.holders.front();
  const auto others = lock.holders.size() - 1;
  const auto more = others == 0 ? "" : fmt::format(", and {} more", others);
  if (!first.token) return fmt::format("held by {}{}", to_text(first.claimant), more);
  if (first.claimant.released) {
    return fmt::format("taken for {} more, though its job has ended (--at-least): {}{}",
                       to_text(first.expires_in), to_text(first.claimant), more);
  }
  return fmt::format("held by {}, for {}{}", to_text(first.claimant), to_text(first.age), more);
}

}  // namespace holdfast::cli
