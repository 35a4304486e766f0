// SPDX-License-Identifier: Apache-2.0
#include "stores/sql/protocol/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace holdfast::sql {

namespace {

/// The label of a line such as `-- bury?`; empty for any other line, comments of several words included.
std::string_view label_in(std::string_view line) {
  constexpr std::string_view mark = "-- ";
  if (!line.starts_with(mark)) return {};
  line.remove_prefix(mark.size());
  const std::string_view label = line.substr(0, line.ends_with('?') ? line.size() - 1 : line.size());
  const bool plain =
      !label.empty() && std::all_of(label.begin(), label.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return plain ? line : std::string_view{};
}

}  // namespace

std::vector<statement> statements_of(std::string_view file) {
  std::vector<statement> all;
  while (!file.empty()) {
    const std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(line.size() + 1, file.size()));
    if (const std::string_view label = label_in(line); !label.empty()) {
      const bool optional = label.ends_with('?');
      all.push_back({std::string{label.substr(0, label.size() - (optional ? 1 : 0))}, optional, {}});
    } else if (!all.empty()) {
      all.back().text.append(line).append("\n");
    }
  }
  return all;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string fingerprint_of(std::span<const std::string_view> texts) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
  for (const std::string_view each : texts) {
    for (const char c : each) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  }
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(hash >> shift) & 15U];
  return digits;
}

naming::naming(std::string schema, std::string table, char quote)
    : schema_{std::move(schema)}, table_{std::move(table)}, quote_{quote} {}

std::string naming::quoted(std::string_view part) const {
  std::string all;
  const auto quote = [&](const std::string& name) { (all += quote_).append(name) += quote_; };
  if (!schema_.empty()) {
    quote(schema_);
    all += '.';
  }
  quote(bare(part));
  return all;
}

std::string naming::bare(std::string_view part) const {
  return part == "locks" ? table_ : table_ + '_' + std::string{part};
}

std::string naming::fill(std::string_view text) const {
  const auto is_part = [](std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  };
  std::string all;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    all += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    const std::string_view part = text.substr(open + 1, close - open - 1);
    if (close == std::string_view::npos || !is_part(part)) {
      all += '{';
      text.remove_prefix(open + 1);
      continue;
    }
    all += quoted(part);
    text.remove_prefix(close + 1);
  }
  return all;
}

std::string naming::plain() const { return schema_.empty() ? table_ : schema_ + '.' + table_; }

}  // namespace holdfast::sql
