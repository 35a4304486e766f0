#pragma once

#include <cstdint>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/mutant.hpp"
#include "stores/sqlite/protocol/script.hpp"

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

/// What a mutant's database has besides ours: before our statements are prepared, and after. Empty for most.
struct additions {
  const char* before = "";
  const char* after = "";
};
[[nodiscard]] additions additions_of(mutant which);

/// Reads the capacity for an acquisition in a transaction of its own, for the statement `capacity` of
/// select_then_update.
class capacity_reader {
 public:
  explicit capacity_reader(sqlite3* db);
  ~capacity_reader();
  capacity_reader(const capacity_reader&) = delete;
  capacity_reader& operator=(const capacity_reader&) = delete;

  /// \param now, floor as those of a transaction.
  void read(const store::claim& wanted, std::int64_t now, std::int64_t floor);

 private:
  sqlite3* db_;
  std::vector<sqlite3_stmt*> statements_;
};

/// Without changes for mutants that are no matter of SQL.
[[nodiscard]] text_mutation mutation_of(mutant which);

}  // namespace holdfast::sim
