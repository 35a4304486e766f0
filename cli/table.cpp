#include "table.hpp"

#include <algorithm>
#include <cstddef>

#include "text.hpp"

namespace holdfast::cli {

std::string table::line(const std::vector<std::string>& cells) const {
  constexpr std::size_t gap = 2;
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = cli::columns(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, cli::columns(row[i]));
    const std::string padding(width - cli::columns(cells[i]), ' ');
    if (i > 0) text.append(gap, ' ');
    text += columns_[i].aligned == column::side::right ? padding + cells[i] : cells[i] + padding;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string table::text(const palette& colours) const {
  std::vector<std::string> titles;
  for (const auto& each : columns_) titles.push_back(each.title);
  std::string all = colours.bold(line(titles)) + '\n';
  for (const auto& row : rows_) all += line(row) + '\n';
  return all;
}

}  // namespace holdfast::cli
