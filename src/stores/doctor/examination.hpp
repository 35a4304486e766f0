// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/diagnosis.hpp"

namespace holdfast::doctor {

using grade = finding::grade;

/// At most 10^15 in size, so that it can be given in another unit. Zero: no number.
[[nodiscard]] std::int64_t number_in(std::string_view text);

/// What is known of one server, file or right: texts by name. What is not known is not there. Servers say the
/// texts, so each is cut at a length.
class facts {
 public:
  explicit facts(std::string about = {}) : subject{std::move(about)} {}

  /// The first text of a name stays.
  void set(std::string_view name, std::string_view text);
  void set(std::string_view name, std::int64_t number) { set(name, std::to_string(number)); }
  /// As "yes" or "no".
  void set_flag(std::string_view name, bool is_so) { set(name, is_so ? "yes" : "no"); }

  [[nodiscard]] bool has(std::string_view name) const { return texts_.contains(name); }
  /// Empty: not known.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  /// Zero: not known, or no number.
  [[nodiscard]] std::int64_t number(std::string_view name) const;

  std::string subject;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

/// One row of a table: a condition, and one of the cases that it can be in.
///
/// `when` has the comparisons that all hold in this case, with blanks between them:
///   name          the fact is known, and not empty
///   !name         it is not
///   name=text     it is known, and this text; text has no blanks
///   name!=text    it is known, and another text
///   name<number, name>=number   likewise; a number, or the name of another fact
///
/// The sentences have places for facts:
///   {name}        the fact
///   {'name'}      as one word for a shell
///   {name:ms}     a length: "10 s" of 10000, "1500 ms" of 1500
///   {name:noun}   a number of things: "1 noun", "2 nouns"
struct condition {
  std::string_view name;
  grade result;
  std::string_view when;
  std::string_view observed;
  std::string_view meaning{};
  std::string_view remedy{};
};

/// Adds a finding for each condition of the table that has a case: the first row of its name that applies.
void examine(std::span<const condition> table, const facts& of, std::vector<finding>& to);

/// The sentence with its facts.
[[nodiscard]] std::string fill(std::string_view sentence, const facts& of);

/// A server's clock beside that of this host: the facts, and what is concluded.
void set_clock(facts& of, std::chrono::microseconds ahead);
[[nodiscard]] std::span<const condition> clock_conditions();

/// This host: who may read the key of a URL, and what its clock counts. \param key empty: there is none.
void examine_key(const std::string& key, std::vector<finding>& to);
void examine_host_clock(const facts& of, std::vector<finding>& to);
[[nodiscard]] facts host_clock();

}  // namespace holdfast::doctor
