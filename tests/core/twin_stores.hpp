#pragma once

#include "core/twins.hpp"
#include "stores/sqlite/link/database.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// The model and the SQL text for SQLite.
class twin_stores final : public twins {
 public:
  twin_stores();

 private:
  [[nodiscard]] answer ask_real(const tickets::request& asked, const owner_id& client) override;

  scratch_folder folder_;
  sqlite::database real_;
};

}  // namespace holdfast::test
