// SPDX-License-Identifier: Apache-2.0
// The floors under `holdfast bench` on MariaDB: what the same work costs through libmariadb alone.
//
//     mariadb_floor SOCKET USER PASSWORD DATABASE pair      [COUNT]   acquire and release, both awaited
//     mariadb_floor SOCKET USER PASSWORD DATABASE unawaited [COUNT]   the same, but the release is only sent
//     mariadb_floor SOCKET USER PASSWORD DATABASE get_lock  [COUNT]   GET_LOCK, then RELEASE_LOCK
//
// SOCKET is the path of a Unix socket, or HOST:PORT. Makes a table holdfast_floor there. Prints one JSON
// object.

#include <algorithm>
#include <cstdlib>
#include <mysql.h>
#include <string>
#include <string_view>

#include "floor.hpp"

namespace {

constexpr std::string_view create =
    "CREATE TABLE IF NOT EXISTS holdfast_floor (name VARBINARY(512) PRIMARY KEY, owner BINARY(16),"
    " token BIGINT NOT NULL, expires DATETIME(6) NOT NULL) ENGINE = InnoDB";
constexpr std::string_view acquire =
    "INSERT INTO holdfast_floor VALUES ('stock/sku-42', '0123456789abcdef', 1, SYSDATE(6) + INTERVAL 30 "
    "SECOND)"
    " ON DUPLICATE KEY UPDATE owner = IF(expires < SYSDATE(6), VALUES(owner), owner),"
    " token = IF(expires < SYSDATE(6), token + 1, token),"
    " expires = IF(expires < SYSDATE(6), VALUES(expires), expires)";
constexpr std::string_view release =
    "UPDATE holdfast_floor SET owner = NULL, expires = '2000-01-01' WHERE name = 'stock/sku-42'"
    " AND owner = '0123456789abcdef'";

class connection {
 public:
  connection(const std::string& where, const char* user, const char* password, const char* database)
      : mysql_{::mysql_init(nullptr)} {
    const bool is_path = where.starts_with('/');
    const auto colon = where.find(':');
    const std::string host = where.substr(0, colon);
    const auto port = colon == std::string::npos ? 3306 : std::atoi(where.c_str() + colon + 1);
    if (::mysql_real_connect(mysql_, is_path ? nullptr : host.c_str(), user, password, database,
                             is_path ? 0 : static_cast<unsigned>(port), is_path ? where.c_str() : nullptr,
                             0) == nullptr) {
      fail();
    }
  }
  ~connection() { ::mysql_close(mysql_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void send(std::string_view sql) const {
    if (::mysql_send_query(mysql_, sql.data(), sql.size()) != 0) fail();
  }
  /// What it changed, or, of a query, its one number.
  [[nodiscard]] long take() const {
    if (::mysql_read_query_result(mysql_) != 0) fail();
    MYSQL_RES* rows = ::mysql_store_result(mysql_);
    if (rows == nullptr) return static_cast<long>(::mysql_affected_rows(mysql_));
    const MYSQL_ROW first = ::mysql_fetch_row(rows);
    const long number = first != nullptr && first[0] != nullptr ? std::atol(first[0]) : 0;
    ::mysql_free_result(rows);
    return number;
  }
  void expect_work() const {
    if (take() < 1) give_up("a statement did not do its work");
  }
  [[nodiscard]] long run(std::string_view sql) const {
    send(sql);
    return take();
  }

 private:
  [[noreturn]] void fail() const { give_up(::mysql_error(mysql_)); }

  MYSQL* mysql_;
};

template <class OnePair>
void measure_and_print(const char* scenario, long count, const OnePair& one_pair) {
  print(scenario, "libmariadb alone", measure_pairs(std::min(count, 1000L), count, one_pair));
}

void pairs(const connection& server, long count) {
  measure_and_print("pair", count, [&] {
    server.send(acquire);
    server.expect_work();
    server.send(release);
    server.expect_work();
  });
}

void unawaited(const connection& server, long count) {
  bool released = true;
  measure_and_print("unawaited", count, [&] {
    if (!released) server.expect_work();  // the protocol takes one statement at a time
    server.send(acquire);
    server.expect_work();
    server.send(release);
    released = false;
  });
  server.expect_work();
}

void named_locks(const connection& server, long count) {
  measure_and_print("get_lock", count, [&] {
    server.send("SELECT GET_LOCK('stock/sku-42', 0)");
    server.expect_work();
    server.send("SELECT RELEASE_LOCK('stock/sku-42')");
    server.expect_work();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argument(argc, argv, 5);
  const long count = number(argc, argv, 6, 5000);
  if (count < 1 || (scenario != "pair" && scenario != "unawaited" && scenario != "get_lock")) {
    return usage("SOCKET USER PASSWORD DATABASE pair|unawaited|get_lock [COUNT]");
  }
  const connection server{argv[1], argv[2], argv[3], argv[4]};
  static_cast<void>(server.run(create));
  static_cast<void>(server.run("DELETE FROM holdfast_floor"));
  if (scenario == "pair") pairs(server, count);
  if (scenario == "unawaited") unawaited(server, count);
  if (scenario == "get_lock") named_locks(server, count);
  return 0;
}
