#pragma once

#include <memory>
#include <optional>
#include <sqlite3.h>
#include <string>
#include <vector>

#include "link/sqlite/database.hpp"
#include "sim/mutant.hpp"
#include "sim/request_link.hpp"
#include "sim/simulated_store.hpp"
#include "sim/sql_mutants.hpp"

namespace holdfast::sim {

/// The tables of protocol/sql in an SQLite database in memory, behind the database of link/sqlite: the same
/// C++ and the same SQL text as in production, but for a mutant's.
class sql_store final : public simulated_store, private counter {
 public:
  explicit sql_store(mutant with);
  ~sql_store() override;

  void begin(scene& in, site& at, ledger& account) override;
  std::unique_ptr<tickets::link> connect(host& from, line& over, duration patience) override;
  void heal() override { careless = false; }
  [[nodiscard]] ledger::terms terms() const override { return {}; }
  /// It is CLOCK_BOOTTIME. (By a clock that could, a waiter that had died and was passed over would live
  /// again among the holders, as long as its row is there.)
  [[nodiscard]] bool clock_goes_back() const override { return false; }
  std::vector<standing> claims() override;
  void restart() override {}
  std::optional<std::size_t> evict() override { return std::nullopt; }
  void remember() override;
  void fall_back() override;
  void forget() override;
  std::string damage() override;

 private:
  tickets::reply carry_out(const tickets::request& asked, const owner_id& client,
                           std::vector<word>& into) override;
  /// Statements that lose and restore data are prepared once, as those of the tables are.
  using recipe = std::vector<sqlite3_stmt*>;
  [[nodiscard]] recipe prepare(const char* statements);
  void execute(const recipe& all);

  text_mutation change_;
  site* at_ = nullptr;
  sqlite3* db_ = nullptr;  // the database's own handle
  std::unique_ptr<sqlite::database> tables_;
  std::vector<sqlite::told> told_;
  recipe every_claim_;
  recipe forget_;
  recipe remember_;
  recipe fall_back_;
  recipe is_whole_;
};

}  // namespace holdfast::sim
