#pragma once

#include <cstddef>
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
  /// Lines without trailing blanks, each ended by a line feed; the titles first, in bold.
  [[nodiscard]] std::string text(const palette& colours) const;

 private:
  using widths = std::vector<std::size_t>;
  [[nodiscard]] widths measured() const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells, const widths& of) const;

  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace holdfast::cli
