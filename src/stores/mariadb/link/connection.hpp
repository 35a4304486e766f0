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

/// A session with one call at a time, by libmariadb's non-blocking functions. Each routine is prepared before
/// its first call.
class connection final : public sql::connection {
 public:
  /// Takes over a session that is ready and has no call in flight.
  connection(handle session, const owner_id& client, const sql::naming& names);
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
  bool bind_parameters();
  void advance();
  [[nodiscard]] stage next_stage();
  void take_rows();
  void fail();
  [[nodiscard]] MYSQL_STMT* current() const { return current_->second.get(); }

  handle session_;
  sql::naming names_;
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
