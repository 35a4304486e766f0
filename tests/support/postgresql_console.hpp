// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct pg_conn;  // libpq's

namespace holdfast::test {

/// A connection to a PostgreSQL server, as a person at psql has one: a statement, and its rows as text. For
/// setting scenes and looking behind them; it blocks, but not for ever.
class postgresql_console {
 public:
  /// `where` as libpq has it: "host=/tmp user=postgres". Not connected, and told so by `connected()`, where
  /// it is not let in.
  explicit postgresql_console(const std::string& where);

  [[nodiscard]] bool connected() const;
  /// The server's process for this connection.
  [[nodiscard]] ::pid_t backend() const;

  /// Rows one a line, their values with "|" between; "(null)"; an error as "-40P01 deadlock detected".
  /// `values` are those of $1, $2 …; without them there may be several statements, and the last one's rows
  /// count. Empty where there are no rows, "-08006 …" when the connection ended instead.
  std::string ask(const std::string& sql, const std::vector<std::string>& values = {});
  /// Sends without waiting for the answer.
  void tell(const std::string& sql, const std::vector<std::string>& values = {});
  /// Of what was told.
  std::string answer();
  /// The payload of the next notification. Empty when none has come within a minute.
  std::string notified();

 private:
  struct closer {
    void operator()(pg_conn* connection) const;
  };
  [[nodiscard]] bool await_bytes() const;

  std::unique_ptr<pg_conn, closer> connection_;
};

}  // namespace holdfast::test
