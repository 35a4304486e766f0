#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stores/mariadb/link/handle.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::mariadb {

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
  class binding;

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
