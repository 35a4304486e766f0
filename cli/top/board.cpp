// SPDX-License-Identifier: Apache-2.0
#include "top/board.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <tuple>
#include <utility>

#include "output/table.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

constexpr std::size_t longest_name = 40;  // in columns
constexpr std::size_t shortest_name = 12;
/// Narrower screens have the columns that say most.
constexpr std::size_t width_for_modes = 90;
constexpr std::size_t width_for_rates = 60;

std::string wait_text(const lock_summary& lock, const std::optional<duration>& wait) {
  if (lock.waiters == 0) return "-";
  return wait ? to_text(*wait) : "?";
}

/// One that is not known may be long or short: it stands behind those that are.
double wait_order(const lock_summary& lock, const std::optional<duration>& wait) {
  if (lock.waiters == 0) return -2.0;
  return wait ? std::chrono::duration<double>{*wait}.count() : -1.0;
}

}  // namespace

void board::update(std::vector<lock_summary> locks, const wait_lengths& longest_waits,
                   const std::vector<std::string>& looked_at, boot_clock::time_point when) {
  waits_.update(locks, longest_waits, looked_at, when);
  rows_.clear();
  rates_.begin();
  for (lock_summary& lock : locks) {
    const double grants = rates_.observe(lock, when);
    std::optional<duration> wait;
    if (const auto since = waits_.since(lock.name))
      wait = std::chrono::duration_cast<duration>(when - *since);
    rows_.push_back({std::move(lock), wait, grants});
  }
  sort();
}

void board::sort_by(order by) {
  order_ = by;
  sort();
}

void board::sort() {
  const auto key = [this](const row& of) {
    switch (order_) {
      case order::waiters: return static_cast<double>(of.lock.waiters);
      case order::wait: return wait_order(of.lock, of.wait);
      case order::grants: return of.grants;
      case order::held: return std::chrono::duration<double>{of.lock.held_for}.count();
      case order::name: return 0.0;
    }
    return 0.0;
  };
  std::ranges::sort(rows_, [&](const row& a, const row& b) {
    return std::tuple{-key(a), std::string_view{a.lock.name}} <
           std::tuple{-key(b), std::string_view{b.lock.name}};
  });
  if (selected() == nullptr) selected_ = rows_.empty() ? std::string{} : rows_.front().lock.name;
}

std::size_t board::selected_index() const {
  const auto found = std::ranges::find_if(rows_, [&](const row& of) { return of.lock.name == selected_; });
  return static_cast<std::size_t>(found - rows_.begin());
}

void board::move(std::ptrdiff_t lines) {
  if (rows_.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows_.size()) - 1;
  const auto next =
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(selected_index()) + lines, 0, last);
  selected_ = rows_[static_cast<std::size_t>(next)].lock.name;
}

std::string_view board::order_text() const {
  switch (order_) {
    case order::waiters: return "by waiters";
    case order::wait: return "by wait";
    case order::grants: return "by grants";
    case order::held: return "by time held";
    case order::name: return "by name";
  }
  return "";
}

const lock_summary* board::selected() const {
  const std::size_t at = selected_index();
  return at < rows_.size() ? &rows_[at].lock : nullptr;
}

std::vector<std::string> board::lines(std::size_t width, std::size_t height, const palette& colours) const {
  if (height == 0) return {};
  // Blocks of a screen, so that lines do not move while another one is selected.
  const std::size_t room = height - 1;
  const std::size_t first = room == 0 ? 0 : selected_index() / room * room;
  const std::size_t end = std::min(rows_.size(), first + room);
  using enum column::side;
  const bool has_modes = width >= width_for_modes;
  const bool has_rates = width >= width_for_rates;
  const std::size_t name_width = std::clamp(width / 3, shortest_name, longest_name);
  std::vector<column> titles{{"NAME", left}, {"WAITERS", right}, {"WAIT", right}};
  if (has_rates) titles.push_back({"GRANTS/S", right});
  titles.push_back({"HELD FOR", right});
  if (has_modes) titles.push_back({"MODE", left});
  titles.push_back({"HOLDER", left});
  table columns{titles};
  for (std::size_t i = first; i < end; ++i) {
    const row& of = rows_[i];
    const bool held = of.lock.holders != 0;
    std::vector<std::string> cells{shortened(printable(of.lock.name), name_width),
                                   std::to_string(of.lock.waiters), wait_text(of.lock, of.wait)};
    if (has_rates) cells.push_back(fmt::format("{:.1f}", of.grants));
    cells.push_back(of.lock.holder_token ? to_text(of.lock.held_for) : "-");
    if (has_modes) cells.push_back(mode_text(of.lock));
    cells.push_back(held ? to_text(of.lock.holder) : "-");
    columns.add(std::move(cells));
  }
  // Cut before it is coloured: an escape sequence has no width.
  static const palette plain{nullptr};
  const std::string text = columns.text(plain);
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line_end = text.find('\n', at);
    const std::string line = shortened(std::string_view{text}.substr(at, line_end - at), width);
    at = line_end + 1;
    const bool is_selected = !all.empty() && first + all.size() - 1 == selected_index();
    all.push_back(all.empty() ? colours.bold(line) : is_selected ? colours.reversed(line) : line);
  }
  return all;
}

}  // namespace holdfast::cli
