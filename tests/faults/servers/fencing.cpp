// SPDX-License-Identifier: Apache-2.0
#include "faults/documented_fencing.hpp"
#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

class fencing_statement_at : public on_each_database {};

TEST_P(fencing_statement_at, a_database_works_as_documented) {
  const auto ask = [&](const std::string& statement) {
    const std::string answer = server_->ask(statement);
    EXPECT_FALSE(answer.starts_with("-")) << statement << ": " << answer;
    return answer;
  };
  EXPECT_EQ(units_left_by_the_documented_statement(ask), 7);
}

HOLDFAST_ON_EACH_SERVER(fencing_statement_at, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
