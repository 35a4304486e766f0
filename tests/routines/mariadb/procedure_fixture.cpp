// SPDX-License-Identifier: Apache-2.0
#include "routines/mariadb/procedure_fixture.hpp"

#include <atomic>

namespace holdfast::test {

namespace {

std::string next_table() {
  static std::atomic<int> made{0};
  std::string name{"t"};
  return name += std::to_string(++made);
}

}  // namespace

procedure_fixture::procedure_fixture()
    : table_{next_table()}, names_{"holdfast", table_, '`'}, console_{connect()} {
  for (const std::string& statement : sql::mariadb::schema_of(names_)) console_->ask(statement);
  // As the connection for calls has: the one for notifications waits for that.
  console_->ask("DO GET_LOCK(CONCAT('holdfast-calls:', LOWER(HEX(" + id(200) + "))), 60)");
}

mariadb_server& procedure_fixture::server() {
  static mariadb_server shared;
  return shared;
}

std::unique_ptr<mariadb_console> procedure_fixture::connect() const {
  auto made = server().console({"holdfast", "secret", "holdfast"});
  for (const std::string& setting : sql::mariadb::session_settings()) made->ask(setting);
  return made;
}

procedure_fixture::rows procedure_fixture::call(mariadb_console& on, std::string_view routine,
                                                const std::string& arguments) const {
  return on.ask("CALL " + names_.quoted(routine) + '(' + arguments + ')');
}

mariadb_console::row procedure_fixture::acquire(const std::string& name, int owner, std::string_view wait,
                                                std::int64_t weight, std::int64_t capacity) {
  return call("acquire", literal(name) + ", " + id(owner) + ", " + id(200) + ", " + std::to_string(weight) +
                             ", " + std::to_string(capacity) + ", 60000000, '{}', " + std::string{wait})
      .at(0);
}

std::string procedure_fixture::literal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "x'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    (text += digits[byte >> 4U]) += digits[byte & 15U];
  }
  return text + '\'';
}

std::string procedure_fixture::id(int number) {
  std::string bytes(16, '\0');
  bytes[0] = static_cast<char>(number >> 8U);
  bytes[1] = static_cast<char>(number);
  return literal(bytes);
}

}  // namespace holdfast::test
