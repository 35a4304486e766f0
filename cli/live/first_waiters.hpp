// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/boot_clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/state.hpp>

namespace holdfast::cli {

/// How long each name's first waiter has waited, of names that were inspected.
using wait_lengths = std::map<std::string, duration, std::less<>>;

/// Since when the first waiter of each name waits. A listing does not say so, and a look at a queue costs a
/// request: each time some are looked at, in turn. What was seen counts until somebody is granted the name.
/// That the first waiter gave up is noticed when the name is looked at again.
class first_waiters {
 public:
  struct wait {
    std::uint64_t waiters = 0;
    fencing_token last_token;
    std::optional<boot_clock::time_point> since{};  ///< empty: not known yet
    boot_clock::time_point looked_at{};             ///< until then when the name was first seen
  };
  using table = std::map<std::string, wait, std::less<>>;

  /// \param locks all of the store.
  /// \param seen of the names that were looked at and have waiters.
  /// \param looked_at those names, and those where nobody was found.
  /// \param when the store was asked.
  void update(const std::vector<lock_summary>& locks, const wait_lengths& seen,
              const std::vector<std::string>& looked_at, boot_clock::time_point when);
  /// Empty: nobody waits, or it is not known.
  [[nodiscard]] std::optional<boot_clock::time_point> since(std::string_view name) const;
  [[nodiscard]] bool has_unknown() const;
  /// Names with waiters.
  [[nodiscard]] const table& all() const noexcept { return waits_; }
  /// Those that were not looked at for the longest time, and of the same time those with the most waiters. In
  /// alphabetical order, so that the same ones are the same list.
  [[nodiscard]] std::vector<std::string> names_to_look_at(std::size_t at_most) const;

 private:
  table waits_;
};

}  // namespace holdfast::cli
