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

/// The events that the library's non-blocking functions wait for, as poll's events; zero: done.
[[nodiscard]] short events_of(int waiting);
/// The events that are ready now, in the format of these functions; zero: none.
[[nodiscard]] int ready_of(MYSQL* connection, int waiting);

/// The reason of a refusal, and whether the session is over. \throws runtime::connection_error if the session
/// ended without a clear answer.
struct refusal {
  store::request_error reason;
  bool over = false;
};
/// \param was_called the procedure had begun, and may have committed before it failed.
[[nodiscard]] refusal refusal_of(unsigned number, const std::string& sentence, bool was_called);

/// The reason why a session could not be made.
[[nodiscard]] runtime::connection_error refused_entry(unsigned number, const std::string& sentence);

}  // namespace holdfast::mariadb
