// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sql {

/// One statement of an .sql file. In scripts for SQLite, see stores/sqlite/protocol/script.hpp, a statement
/// may be optional.
struct statement {
  std::string label;
  bool optional = false;
  std::string text;
};

/// Takes an .sql file apart: a line of `-- label`, or `-- label?` for an optional one, begins a statement.
[[nodiscard]] std::vector<statement> statements_of(std::string_view file);

/// Replaces all occurrences.
void replace_all(std::string& text, std::string_view from, std::string_view to);

/// Zero if the text does not begin with a number.
[[nodiscard]] inline std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// A hash of texts, in hexadecimal digits.
[[nodiscard]] std::string fingerprint_of(std::span<const std::string_view> texts);

/// The names of the lock table and of the objects that belong to it, for servers that quote names.
class naming {
 public:
  /// \param schema empty: the one that the server chooses.
  naming(std::string schema, std::string table, char quote);
  /// "public"."locks_claims" of "claims"; the table itself of "locks".
  [[nodiscard]] std::string quoted(std::string_view part) const;
  /// A statement's text with `{part}` replaced by quoted names.
  [[nodiscard]] std::string fill(std::string_view text) const;
  /// The name as people write it: "public.locks".
  [[nodiscard]] std::string plain() const;
  /// Empty if the server chooses it.
  [[nodiscard]] const std::string& schema() const { return schema_; }
  /// The same table in this schema.
  [[nodiscard]] naming in(std::string schema) const { return {std::move(schema), table_, quote_}; }
  /// "locks_claims" of "claims", without schema and quotes.
  [[nodiscard]] std::string bare(std::string_view part) const;

 private:
  std::string schema_;
  std::string table_;
  char quote_;
};

/// The objects of fences in a schema, "holdfast_fences" and "holdfast_fence", whatever the lock table's name.
[[nodiscard]] inline naming fences_in(std::string schema, char quote) {
  return {std::move(schema), "holdfast", quote};
}

}  // namespace holdfast::sql
