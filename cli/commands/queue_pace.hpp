// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include <holdfast/boot_clock.hpp>
#include <holdfast/state.hpp>

namespace holdfast::cli {

/// How fast a queue of exclusive claims moves, from what was seen while waiting in it. Time is a parameter.
class queue_pace {
 public:
  /// Notes one look at the name. A hand-over counts as seen if the new holder was the first waiter of the
  /// look before: otherwise others have held meanwhile, or have given up, and nobody knows which.
  void see(const lock_state& lock, boot_clock::time_point now);

  struct estimate {
    duration until_turn;    ///< from now to our grant
    duration between;       ///< from one grant to the next, median
    std::size_t handovers;  ///< that this is the pace of
  };
  /// When a claim's turn may come, if the queue moves on as it did. Empty before two hand-overs were seen,
  /// for claims that may hold together, behind a holder of another library, and for the next in the queue
  /// while its holder takes longer than usual.
  /// \param lock the last look. \param ahead how many waiters of it come before the claim.
  [[nodiscard]] std::optional<estimate> turn(const lock_state& lock, std::size_t ahead,
                                             boot_clock::time_point now) const;

 private:
  static constexpr std::size_t handovers_max = 5;  // older ones say less about what comes

  std::string holder_;
  std::string next_;                                  // the first waiter of the last look
  std::optional<boot_clock::time_point> last_grant_;  // when the holder was seen to be granted
  std::deque<duration> intervals_;                    // between grants, the oldest first
};

/// `one hand-over every 1.2s, as the last 5`
[[nodiscard]] std::string pace_text(const queue_pace::estimate& turn);

/// About as exact as an estimate is: `7s`, `40s`, `2m10s`, `1h05m`.
[[nodiscard]] duration rounded_estimate(duration length);

}  // namespace holdfast::cli
