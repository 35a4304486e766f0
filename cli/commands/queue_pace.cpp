// SPDX-License-Identifier: Apache-2.0
#include "commands/queue_pace.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <vector>

#include "output/text.hpp"

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// By a claim of Holdfast: those of other libraries need not tell one hold from the next.
bool is_held_alone(const lock_state& lock) {
  if (lock.holders.size() != 1) return false;
  const claim_state& holder = lock.holders.front();
  return holder.mode == mode::exclusive && holder.token;
}

duration median(std::vector<duration> lengths) {
  std::ranges::sort(lengths);
  const auto middle = lengths.size() / 2;
  return lengths.size() % 2 == 1 ? lengths[middle] : (lengths[middle - 1] + lengths[middle]) / 2;
}

}  // namespace

void queue_pace::see(const lock_state& lock, boot_clock::time_point now) {
  if (lock.holders.empty()) return;  // between two holders: the next look shows whose turn it was
  if (!is_held_alone(lock)) {
    *this = {};
    return;
  }
  const std::string& holder = lock.holders.front().owner;
  if (holder != holder_ && !holder_.empty()) {
    if (holder == next_) {
      if (last_grant_) intervals_.push_back(std::chrono::duration_cast<duration>(now - *last_grant_));
      if (intervals_.size() > handovers_max - 1) intervals_.pop_front();
    }
    last_grant_ = now;
  }
  holder_ = holder;
  next_ = lock.waiters.empty() ? std::string{} : lock.waiters.front().owner;
}

std::optional<queue_pace::estimate> queue_pace::turn(const lock_state& lock, std::size_t ahead,
                                                     boot_clock::time_point now) const {
  if (intervals_.empty() || !is_held_alone(lock) || ahead >= lock.waiters.size()) return std::nullopt;
  const auto end = lock.waiters.begin() + static_cast<std::ptrdiff_t>(ahead) + 1;
  if (std::any_of(lock.waiters.begin(), end,
                  [](const claim_state& each) { return each.mode != mode::exclusive; }))
    return std::nullopt;
  const duration between = median({intervals_.begin(), intervals_.end()});
  const auto held_for = std::chrono::duration_cast<duration>(now - *last_grant_);
  const auto until_turn =
      std::max(between - held_for, duration::zero()) + between * static_cast<std::int64_t>(ahead);
  if (until_turn == duration::zero()) return std::nullopt;
  return estimate{until_turn, between, intervals_.size() + 1};
}

std::string pace_text(const queue_pace::estimate& turn) {
  const double seconds = std::chrono::duration<double>{turn.between}.count();
  // A queue of short holds is told by tenths.
  const auto between =
      turn.between < 1s || turn.between >= 10s ? to_text(turn.between) : fmt::format("{:.1f}s", seconds);
  return fmt::format("one hand-over every {}, as the last {}", between, turn.handovers);
}

duration rounded_estimate(duration length) {
  const duration step = length < 10s     ? 1s
                        : length < 1min  ? 5s
                        : length < 10min ? 10s
                        : length < 1h    ? 1min
                                         : 5min;
  return std::max<duration>((length + step / 2) / step * step, step);
}

}  // namespace holdfast::cli
