// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mysql.h>
#include <optional>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "runtime/io_deadline.hpp"
#include "stores/sql/link/connection.hpp"
#include "stores/sql/protocol/text.hpp"

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

/// How calls reach the server.
enum class session_use : std::uint8_t {
  own,     // the session has the settings that calls need, and keeps prepared statements
  shared,  // any session, for one call each: a call is one text with all that it needs
};

/// A session with one call at a time, by libmariadb's non-blocking functions. In a session of its own each
/// routine is prepared before its first call.
class connection final : public sql::connection {
 public:
  /// Takes over a session that is ready and has no call in flight.
  connection(handle session, const owner_id& client, const sql::naming& names,
             session_use use = session_use::own);
  ~connection() override;

  [[nodiscard]] int descriptor() const override { return mysql_get_socket(session_.get()); }
  [[nodiscard]] short events() const override;
  [[nodiscard]] std::size_t depth() const override { return 1; }
  void send(const sql::call& request) override;
  [[nodiscard]] std::vector<sql::answer> proceed() override;
  [[nodiscard]] std::optional<runtime::connection_error> ended() const override { return ended_; }

 private:
  enum class stage : std::uint8_t { idle, preparing, executing, storing, going_on, answered };

  // Each begins or continues the function of a stage, and returns the events to wait for; zero: done.
  int begin(stage s);
  int resume(int ready);
  int begin_text(stage s);
  int resume_text(int ready);
  bool bind_parameters();
  void advance();
  [[nodiscard]] stage next_stage();
  void take_rows();
  void fail();
  [[nodiscard]] MYSQL_STMT* current() const { return current_->second.get(); }
  [[nodiscard]] bool is_shared() const { return use_ == session_use::shared; }
  [[nodiscard]] unsigned error_number() const;
  [[nodiscard]] bool has_columns() const;
  [[nodiscard]] bool has_more_results() const;

  handle session_;
  sql::naming names_;
  const session_use use_;
  std::string text_;             // of the call in a shared session
  MYSQL_RES* stored_ = nullptr;  // its rows, until they are taken
  std::map<std::string, statement> statements_;
  std::map<std::string, statement>::iterator current_{};
  sql::call call_;
  stage stage_ = stage::idle;
  int waiting_ = 0;
  int failed_ = 0;  // the return value of the stage's function
  my_bool failed_short_ = 0;
  bool has_rows_ = false;  // the first result has been taken; what follows is the procedure's status
  sql::answer answer_;
  std::optional<runtime::connection_error> ended_;
};

}  // namespace holdfast::mariadb
