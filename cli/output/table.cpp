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
  widths of;
  for (const auto& each : columns_) of.push_back(cli::columns(each.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i] = std::max(of[i], cli::columns(row[i]));
  }
  if (!width_ || of.empty()) return of;
  const std::size_t all = std::accumulate(of.begin(), of.end(), gap * (of.size() - 1));
  const std::size_t excess = all - std::min(all, *width_);
  const std::size_t shortest = std::min(of.front(), shortest_cut);
  of.front() = std::max(of.front() - std::min(of.front(), excess), shortest);
  return of;
}

std::string table::line(const std::vector<std::string>& cells, const widths& of) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string cell = i == 0 ? shortened(cells[i], of[i]) : cells[i];
    const std::string padding(of[i] - cli::columns(cell), ' ');
    if (i > 0) text.append(gap, ' ');
    text += columns_[i].aligned == column::side::right ? padding + cell : cell + padding;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return width_ ? shortened(text, *width_) : text;
}

std::string table::text(const palette& colours) const {
  std::vector<std::string> titles;
  for (const auto& each : columns_) titles.push_back(each.title);
  const auto of = measured();
  std::string all = colours.bold(line(titles, of)) + '\n';
  for (const auto& row : rows_) all += line(row, of) + '\n';
  return all;
}

}  // namespace holdfast::cli
