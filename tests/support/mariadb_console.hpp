// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct st_mysql;

namespace holdfast::test {

/// What a server answered instead of rows.
class mariadb_error : public std::runtime_error {
 public:
  mariadb_error(unsigned number, const std::string& message) : std::runtime_error{message}, number_{number} {}
  [[nodiscard]] unsigned number() const noexcept { return number_; }

 private:
  unsigned number_;
};

/// A plain blocking connection to a MariaDB, for questions of the tests' own.
class mariadb_console {
 public:
  /// Columns as text; NULL as "NULL", as the command line client shows it.
  using row = std::vector<std::string>;
  using rows = std::vector<row>;

  struct account {
    std::string user{"root"};
    std::string password{};
    std::string database{};
  };

  /// \throws mariadb_error when it cannot be had.
  mariadb_console(const std::string& socket, const account& login);
  ~mariadb_console();
  mariadb_console(const mariadb_console&) = delete;
  mariadb_console& operator=(const mariadb_console&) = delete;

  /// One statement; the rows of its first result. \throws mariadb_error.
  rows ask(std::string_view sql);
  /// The one value of an answer of one row. \throws mariadb_error, std::out_of_range.
  std::string value(std::string_view sql) { return ask(sql).at(0).at(0); }
  std::int64_t number(std::string_view sql) { return std::stoll(value(sql)); }

 private:
  [[noreturn]] void fail() const;

  st_mysql* handle_;
};

}  // namespace holdfast::test
