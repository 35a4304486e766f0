#include "faults/documented_fencing.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::faults {
namespace {

TEST(fencing_statement, of_the_documents_works_on_mariadb) {
  test::mariadb_server server;
  const auto ask = [&](const std::string& statement) -> std::string {
    const auto rows = server.ask(statement);
    return rows.empty() ? std::string{} : rows[0].at(0);
  };
  EXPECT_EQ(units_left_by_the_documented_statement(ask), 7);
}

}  // namespace
}  // namespace holdfast::faults
