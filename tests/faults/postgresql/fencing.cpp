#include "faults/documented_fencing.hpp"
#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

TEST(fencing_statement, of_the_documents_works_on_postgresql) {
  postgresql_server server;
  const auto ask = [&](const std::string& statement) {
    const std::string answer = server.ask(statement);
    EXPECT_FALSE(answer.starts_with("-")) << statement << ": " << answer;
    return answer;
  };
  EXPECT_EQ(units_left_by_the_documented_statement(ask), 7);
}

}  // namespace
}  // namespace holdfast::faults
