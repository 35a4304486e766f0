// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "faults/faults.hpp"

namespace holdfast::faults {

/// The statement by which a resource checks the fencing token, out of the README: as users copy it. With the
/// token in it.
inline std::string documented_fencing(int token) {
  const auto statement_in = [](const std::string& file) {
    const std::string text = bytes_of(std::string{HOLDFAST_DOCS} + file);
    const auto begin = text.find("UPDATE stock SET");
    if (begin == std::string::npos) throw std::runtime_error{file + ": no fencing statement"};
    return text.substr(begin,
                       text.find_first_of(";\n", text.find(":token", text.find("<= ", begin))) - begin);
  };
  std::string statement = statement_in("/../README.md");
  statement.resize(statement.find(":token", statement.find("<= ")) + std::string{":token"}.size());
  EXPECT_EQ(statement, statement_in("/guarantees.md"));
  for (auto at = statement.find(":token"); at != std::string::npos; at = statement.find(":token")) {
    statement.replace(at, std::string{":token"}.size(), std::to_string(token));
  }
  return statement;
}

/// Carried out with the tokens of two holders in turn, and late by the first: of ten units it leaves this
/// many.
/// \param ask carries a statement out; with a number that it asks for.
template <class Ask>
int units_left_by_the_documented_statement(Ask ask) {
  ask("CREATE TABLE stock (sku int PRIMARY KEY, units int NOT NULL, fence bigint NOT NULL)");
  ask("INSERT INTO stock VALUES (42, 10, 0), (43, 10, 0)");
  for (const int token : {5, 5, 6, 5}) ask(documented_fencing(token));
  return std::stoi(ask("SELECT units FROM stock WHERE sku = 42"));
}

}  // namespace holdfast::faults
