// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/model_comparison.hpp"
#include "stores/sqlite/link/database.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// The model and the SQL text for SQLite.
class sqlite_comparison final : public model_comparison {
 public:
  sqlite_comparison();

 private:
  [[nodiscard]] answer ask_real(const tickets::request& request, const owner_id& client) override;

  scratch_folder folder_;
  sqlite::database real_;
};

}  // namespace holdfast::test
