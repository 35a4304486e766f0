// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "stores/mariadb/protocol/schema.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::test {

/// One server for all tests of a process, each with a table of its own, and the procedures called with
/// literals: what a client binds is written out here.
class procedure_fixture {
 public:
  using rows = mariadb_console::rows;

  procedure_fixture();

  [[nodiscard]] static mariadb_server& server();
  [[nodiscard]] const sql::naming& names() const { return names_; }
  [[nodiscard]] const std::string& table() const { return table_; }
  /// A connection of its own, set up as a client's.
  [[nodiscard]] std::unique_ptr<mariadb_console> connect() const;

  /// `CALL <table>_<routine>(<arguments>)`.
  rows call(std::string_view routine, const std::string& arguments) {
    return call(*console_, routine, arguments);
  }
  rows call(mariadb_console& on, std::string_view routine, const std::string& arguments) const;
  /// Any statement, with `{claims}` and the like as in our files.
  rows ask(std::string_view sql) { return console_->ask(names_.fill(sql)); }
  [[nodiscard]] mariadb_console& console() { return *console_; }

  /// With a ttl of a minute. The answer is one row: outcome, token, granted, head, holder_left.
  mariadb_console::row acquire(const std::string& name, int owner, std::string_view wait = "TRUE",
                               std::int64_t weight = whole, std::int64_t capacity = whole);
  /// The token of a claim that waits or holds.
  std::int64_t token_of(const mariadb_console::row& acquired) { return std::stoll(acquired.at(1)); }

  static constexpr std::int64_t whole = std::int64_t{1} << 30U;

  /// Bytes as a literal that no character set touches.
  [[nodiscard]] static std::string literal(std::string_view bytes);
  /// 16 bytes of an owner or a client.
  [[nodiscard]] static std::string id(int number);

 private:
  std::string table_;
  sql::naming names_;
  std::unique_ptr<mariadb_console> console_;
};

}  // namespace holdfast::test
