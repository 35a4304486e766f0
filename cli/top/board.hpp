// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/first_waiters.hpp"
#include "live/grant_rates.hpp"
#include "output/terminal.hpp"
#include <holdfast/boot_clock.hpp>
#include <holdfast/state.hpp>

namespace holdfast::cli {

/// The table of `holdfast top`: the locks of a store, the most interesting first, one of them selected. It
/// knows neither the store nor the terminal.
class board {
 public:
  enum class order : std::uint8_t { waiters, wait, grants, held, name };

  /// \param longest_waits, looked_at as first_waiters::update().
  /// \param when the store was asked.
  void update(std::vector<lock_summary> locks, const wait_lengths& longest_waits,
              const std::vector<std::string>& looked_at, boot_clock::time_point when);
  void sort_by(order by);
  /// Selects another line; negative: upwards.
  void move(std::ptrdiff_t lines);
  /// Null: there is none.
  [[nodiscard]] const lock_summary* selected() const;
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  /// By what it is sorted: `by waiters`.
  [[nodiscard]] std::string_view order_text() const;
  [[nodiscard]] const first_waiters& waits() const noexcept { return waits_; }

  /// The titles and as many lines around the selected one as fit.
  [[nodiscard]] std::vector<std::string> lines(std::size_t width, std::size_t height,
                                               const palette& colours) const;

 private:
  struct row {
    lock_summary lock;
    std::optional<duration> wait{};  // empty: nobody waits, or it is not known yet
    double grants = 0;               // a second
  };
  void sort();
  [[nodiscard]] std::size_t selected_index() const;

  std::vector<row> rows_;
  first_waiters waits_;
  grant_rates rates_;
  std::string selected_;
  order order_ = order::waiters;
};

}  // namespace holdfast::cli
