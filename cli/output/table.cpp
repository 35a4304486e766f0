// SPDX-License-Identifier: Apache-2.0
#include "output/table.hpp"

#include <algorithm>
#include <numeric>

#include "output/text.hpp"

namespace holdfast::cli {

namespace {

constexpr std::size_t gap = 2;

}  // namespace

/// Once for all lines: measured again for each, a table of thousands of rows would take minutes.
table::widths table::measured() const {
  widths result;
  for (const auto& each : columns_) result.push_back(cli::columns(each.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], cli::columns(row[i]));
  }
  if (!width_ || result.empty()) return result;
  const std::size_t all = std::accumulate(result.begin(), result.end(), gap * (result.size() - 1));
  const std::size_t excess = all - std::min(all, *width_);
  const std::size_t shortest = std::min(result.front(), shortest_cut);
  result.front() = std::max(result.front() - std::min(result.front(), excess), shortest);
  return result;
}

std::string table::line(const std::vector<std::string>& cells, const widths& wide) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string cell = i == 0 ? shortened(cells[i], wide[i]) : cells[i];
    const std::string padding(wide[i] - cli::columns(cell), ' ');
    if (i > 0) text.append(gap, ' ');
    text += columns_[i].aligned == column::side::right ? padding + cell : cell + padding;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return width_ ? shortened(text, *width_) : text;
}

std::string table::text(const palette& colours) const {
  std::vector<std::string> titles;
  for (const auto& each : columns_) titles.push_back(each.title);
  const auto wide = measured();
  std::string all = colours.bold(line(titles, wide)) + '\n';
  for (const auto& row : rows_) all += line(row, wide) + '\n';
  return all;
}

}  // namespace holdfast::cli
