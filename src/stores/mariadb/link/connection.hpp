#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stores/mariadb/link/handle.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::mariadb {

/// A session with calls one after another, by those functions of libmariadb that do not block. Each routine
/// is prepared when it is first called.
class connection final : public sql::connection {
 public:
  /// Takes over a session that is ready, with nothing under way.
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

  // Each begins or goes on with the function of a stage, and says what that waits for; zero: it is done.
  int begin(stage s);
  int resume(int ready);
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
  int failed_ = 0;  // what the function of the stage gave back
  my_bool failed_short_ = 0;
  bool has_rows_ = false;  // the first result has been taken; what follows is the procedure's status
  sql::answer answer_;
  std::optional<runtime::connection_error> ended_;
};

}  // namespace holdfast::mariadb
