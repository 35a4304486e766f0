// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "live/first_waiters.hpp"
#include "live/grant_rates.hpp"
#include "live/reader.hpp"
#include "output/json.hpp"
#include <holdfast/boot_clock.hpp>
#include <holdfast/state.hpp>

namespace holdfast::cli {

/// A lock as `serve` shows it.
struct lock_row {
  lock_summary lock;
  double grants_per_s = 0;
  /// Since when its first waiter waits, as far as that was looked at; empty: not known, or nobody waits.
  std::optional<boot_clock::time_point> waited_since{};
};

/// The locks of a store at one time.
struct snapshot {
  std::uint64_t revision = 0;  ///< rises when something has changed; zero: nothing was read yet
  boot_clock::time_point taken_at{};
  std::size_t total = 0;       ///< locks of the store
  std::vector<lock_row> rows;  ///< sorted by name; of a larger store the first ones

  /// A store may have more; a page and its server stay usable.
  static constexpr std::size_t most_rows = 20'000;
};

/// What differs from the snapshot before. The rows are those of the new one.
struct snapshot_change {
  std::vector<const lock_row*> changed;  ///< also new ones
  std::vector<std::string> removed;
};

/// As `ls --json`, with the longest wait and the rate of grants.
[[nodiscard]] json describe(const lock_row& row, boot_clock::time_point taken_at);

/// Keeps the last snapshot, and what of it changes.
class snapshot_keeper {
 public:
  /// \return what has changed, beyond the ages. It lives until the next call.
  snapshot_change update(store_reader::view seen);
  [[nodiscard]] const snapshot& last() const noexcept { return last_; }
  [[nodiscard]] const snapshot& previous() const noexcept { return previous_; }
  /// Of all names, also those that have no row.
  [[nodiscard]] const first_waiters& waits() const noexcept { return waits_; }

 private:
  snapshot last_;
  snapshot previous_;
  first_waiters waits_;
  grant_rates rates_;
};

}  // namespace holdfast::cli
