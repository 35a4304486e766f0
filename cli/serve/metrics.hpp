// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/first_waiters.hpp"

namespace holdfast::cli {

/// The figures of `/metrics`, by prefix of the names. A name may be anybody's, so the number of series has a
/// bound: prefixes that come after the first hundred count together.
class metrics_board {
 public:
  static constexpr std::size_t most_prefixes = 100;
  static constexpr std::size_t longest_prefix = 128;  ///< bytes; a longer one counts with the rest

  /// \param store its URL without secrets.
  explicit metrics_board(std::string store) : store_{std::move(store)} {}

  /// Counts anew what is held and waited for.
  /// \param all locks of the store. \param when it was asked.
  void count(const std::vector<lock_summary>& all, boot_clock::time_point when);
  /// What a listing does not say.
  /// \param handed_over the names that have another holder than in the snapshot before.
  void add(const first_waiters& waits, const std::vector<std::string>& handed_over);
  /// \param deadlocks empty: not known.
  /// \param is_up whether the store answers; while it does not, what it has now is left out.
  /// \param is_open_metrics the format: OpenMetrics 1.0, or Prometheus' own text format 0.0.4.
  [[nodiscard]] std::string text(bool is_up, boot_clock::time_point now, bool is_open_metrics,
                                 std::optional<std::size_t> deadlocks = std::nullopt) const;

 private:
  struct figures {
    std::uint64_t held = 0;
    std::uint64_t waiters = 0;
    std::uint64_t hand_overs = 0;
    std::optional<boot_clock::time_point> waited_since{};  // the longest wait that is known
    std::optional<boot_clock::time_point> held_since{};    // the oldest hold
  };
  [[nodiscard]] figures& of(const std::string& name);

  std::string store_;
  std::map<std::string, figures, std::less<>> by_prefix_;  // printable
};

/// The text before the first slash or colon; of a name without them, the name.
[[nodiscard]] std::string_view prefix_of(std::string_view name);

}  // namespace holdfast::cli
