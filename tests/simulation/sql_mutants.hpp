// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulation/mutant.hpp"
#include "stores/sql/protocol/text.hpp"

namespace holdfast::sim {

/// Changes in the text of statements, found by what they replace.
class text_mutation {
 public:
  struct change {
    std::string_view label;  // of the statements to change
    std::string_view from;   // has to be found in each of them once
    std::string_view to;
    int times = 0;
  };

  text_mutation() = default;
  explicit text_mutation(std::vector<change> all) : changes_{std::move(all)} {}

  /// \throws std::runtime_error where a text is not there, or more than once.
  [[nodiscard]] std::string operator()(const sql::statement& s);
  /// \throws std::runtime_error when one of the changes has not been made.
  void require_done() const;

 private:
  std::vector<change> changes_;
};

/// A statement for what a mutant's database has besides ours. Empty for most.
[[nodiscard]] const char* addition_of(mutant which);

/// Without changes for mutants that are no matter of SQL.
[[nodiscard]] text_mutation mutation_of(mutant which);

}  // namespace holdfast::sim
