// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "output/terminal.hpp"

namespace holdfast::cli {

struct column {
  enum class side { left, right };
  std::string title;
  side aligned = side::left;
};

/// Rows of printable text, aligned by what a terminal shows and not by bytes.
class table {
 public:
  explicit table(std::vector<column> columns) : columns_{std::move(columns)} {}

  /// As many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Makes the lines fit a terminal: the cells of the first column are cut, to `shortest_cut` at least, and
  /// then the lines.
  void fit(std::size_t width) { width_ = width; }
  /// Lines without trailing blanks, each ended by a line feed; the titles first, in bold.
  [[nodiscard]] std::string text(const palette& colours) const;

  static constexpr std::size_t shortest_cut = 16;

 private:
  using widths = std::vector<std::size_t>;
  [[nodiscard]] widths measured() const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells, const widths& wide) const;

  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::optional<std::size_t> width_;
};

}  // namespace holdfast::cli
