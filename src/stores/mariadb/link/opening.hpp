#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io_deadline.hpp"
#include "stores/doctor/examination.hpp"
#include "stores/mariadb/link/dial.hpp"
#include "stores/mariadb/link/handle.hpp"
#include "stores/mariadb/link/settings.hpp"
#include "stores/mariadb/protocol/schema.hpp"

namespace holdfast::mariadb {

/// An error that the server returned.
struct error_answer {
  unsigned number;
  std::string sentence;
};

/// A session that is being set up.
class opening {
 public:
  opening(const settings& to, const owner_id& client, role as, int stop)
      : to_{to}, names_{to.names()}, client_{client}, as_{as}, limit_{to.link.connect_limit, stop} {}

  [[nodiscard]] handle run(const std::optional<owner_id>& former, sql::provision make);

  /// Whether there are no tables, and none were to be made.
  [[nodiscard]] bool is_bare() const { return bare_; }

  /// \return whether it has made any.
  [[nodiscard]] bool provide() {
    begin();
    check_server();
    return provide_tables(sql::mariadb::existing::replaced);
  }

  /// Reads what the server says of itself and of the store; changes and locks nothing, and calls no procedure
  /// that is not Holdfast's.
  [[nodiscard]] std::vector<finding> examine();

 private:
  void begin();
  void set_options();
  void set_tls();
  void connect();
  [[nodiscard]] int go_on_connecting(MYSQL*& connected, int ready);
  void check_version() const;
  void check_server();
  [[nodiscard]] std::string lock_of(const owner_id& client) const {
    return '\'' + sql::mariadb::lock_of(client, as_ == role::notifications) + '\'';
  }
  void end_session(const owner_id& of);
  void take_lock();
  void stay_out_of_slow_log();
  [[nodiscard]] bool is_clustered();
  void refuse_cluster();
  void bind_to_session(std::chrono::milliseconds timeout);
  bool provide_tables(sql::mariadb::existing procedures_there);
  void make_tables(sql::mariadb::existing procedures_there);
  [[nodiscard]] std::string listed(const std::vector<std::string_view>& parts) const;
  struct found_procedures {
    bool complete = false;
    bool current = false;   // the same as this Holdfast makes
    std::string untrusted;  // a procedure of another user that would run with this user's rights
  };
  [[nodiscard]] found_procedures look_at_procedures();
  void check_tables();
  [[nodiscard]] std::string with_names(std::string_view statement) const;
  void examine_excess(const std::string& subject, std::vector<finding>& to) const;
  void read_store(doctor::facts& to);
  [[nodiscard]] bool may_see(const std::string& statement);
  [[nodiscard]] std::int64_t layout();

  template <class Function>
  void wait_while(int waiting, Function go_on);
  std::optional<error_answer> try_to_ask(std::string_view statement);
  void ask(std::string_view statement);
  [[nodiscard]] std::string text(std::string_view statement);
  [[nodiscard]] error_answer error_now() const {
    return {mysql_errno(session_.get()), mysql_error(session_.get())};
  }

  const settings& to_;
  const sql::naming names_;
  const owner_id& client_;
  const role as_;
  runtime::io_deadline limit_;
  sql::provision make_ = sql::provision::tables;
  bool bare_ = false;
  handle session_;
  bool is_answered_ = true;          // the last statement, by the server: another can be sent
  std::vector<std::string> column_;  // the first column of the last answer
};

}  // namespace holdfast::mariadb
