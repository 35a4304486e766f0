#pragma once

#include <memory>
#include <mysql.h>
#include <string>

#include "core/machine.hpp"
#include "runtime/io_deadline.hpp"

namespace holdfast::mariadb {

struct closer {
  void operator()(MYSQL* m) const { mysql_close(m); }
  void operator()(MYSQL_STMT* s) const { mysql_stmt_close(s); }
  void operator()(MYSQL_RES* r) const { mysql_free_result(r); }
};
using handle = std::unique_ptr<MYSQL, closer>;
using statement = std::unique_ptr<MYSQL_STMT, closer>;
using result = std::unique_ptr<MYSQL_RES, closer>;

/// What the library's functions that do not block wait for, as poll's events; zero when they are done.
[[nodiscard]] short events_of(int waiting);
/// Which of that has come by now, as these functions take it; zero when nothing has.
[[nodiscard]] int ready_of(MYSQL* connection, int waiting);

/// Why the server refused something, and whether the session is of no more use for that reason. What ends it
/// without a clear answer throws instead: \throws runtime::connection_error.
struct refusal {
  store::trouble reason;
  bool over = false;
};
[[nodiscard]] refusal refusal_of(unsigned number, const std::string& sentence);

/// Why a session could not be had.
[[nodiscard]] runtime::connection_error refused_entry(unsigned number, const std::string& sentence);

}  // namespace holdfast::mariadb
