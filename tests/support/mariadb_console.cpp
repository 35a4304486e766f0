// SPDX-License-Identifier: Apache-2.0
#include "support/mariadb_console.hpp"

#include <memory>
#include <mysql.h>
#include <optional>

namespace holdfast::test {

namespace {

using result = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

mariadb_console::rows rows_of(MYSQL_RES* from) {
  mariadb_console::rows all;
  const unsigned columns = mysql_num_fields(from);
  while (const MYSQL_ROW fields = mysql_fetch_row(from)) {
    const unsigned long* lengths = mysql_fetch_lengths(from);
    mariadb_console::row& one = all.emplace_back();
    one.reserve(columns);
    for (unsigned i = 0; i < columns; ++i) {
      one.push_back(fields[i] == nullptr ? std::string{"NULL"} : std::string(fields[i], lengths[i]));
    }
  }
  return all;
}

}  // namespace

mariadb_console::mariadb_console(const std::string& socket, const account& login)
    : handle_{mysql_init(nullptr)} {
  const unsigned limit_s = 60;
  mysql_optionsv(handle_, MYSQL_READ_DEFAULT_FILE, "/dev/null");
  mysql_optionsv(handle_, MYSQL_OPT_CONNECT_TIMEOUT, &limit_s);
  mysql_optionsv(handle_, MYSQL_OPT_READ_TIMEOUT, &limit_s);
  const char* database = login.database.empty() ? nullptr : login.database.c_str();
  if (mysql_real_connect(handle_, nullptr, login.user.c_str(), login.password.c_str(), database, 0,
                         socket.c_str(), CLIENT_MULTI_RESULTS) != nullptr) {
    return;
  }
  const mariadb_error error{mysql_errno(handle_), mysql_error(handle_)};
  mysql_close(handle_);
  throw mariadb_error{error};
}

mariadb_console::~mariadb_console() { mysql_close(handle_); }

void mariadb_console::fail() const { throw mariadb_error{mysql_errno(handle_), mysql_error(handle_)}; }

mariadb_console::rows mariadb_console::ask(std::string_view sql) {
  if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) fail();
  std::optional<rows> first;
  int more = 0;  // of the results that a CALL has, its status comes last
  do {
    const result got{mysql_store_result(handle_), &mysql_free_result};
    if (got && !first) first = rows_of(got.get());
    if (!got && mysql_errno(handle_) != 0) fail();
    more = mysql_next_result(handle_);
  } while (more == 0);
  if (more > 0) fail();
  return first.value_or(rows{});
}

}  // namespace holdfast::test
