#include "stores/mariadb/link/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/measurement.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/mariadb/link/conditions.hpp"
#include "stores/mariadb/link/opening.hpp"
#include "stores/mariadb/protocol/schema.hpp"
#include "stores/mariadb/protocol/texts.hpp"
#include "stores/sql/link/conditions.hpp"
#include "stores/sql/protocol/number.hpp"

namespace holdfast::mariadb {

using runtime::connection_error;

namespace {

using doctor::facts;

/// Lines "name=value".
void set_all(facts& of, const std::vector<std::string>& lines) {
  for (const std::string& each : lines) {
    const std::size_t at = std::min(each.find('='), each.size());
    of.set(each.substr(0, at), each.substr(std::min(at + 1, each.size())));
  }
}

}  // namespace

std::vector<finding> opening::examine() {
  begin();
  check_version();
  sql::examination found{facts{to_.link.place}, {}};
  facts& said = found.said;
  const bool is_mariadb = mariadb_connection(session_.get()) != 0;
  said.set("product", is_mariadb ? "MariaDB" : "MySQL");
  // Before the server has a say.
  said.set("grant", "GRANT EXECUTE ON PROCEDURE each TO this user; holdfast schema URL --apply");
  said.set(
      "careless_remedy",
      "innodb_flush_log_at_trx_commit = 1, sync_binlog = 1 and innodb_flush_method = O_DIRECT in the option "
      "file, the first two also by SET GLOBAL");
  said.set_flag("session", to_.link.session.has_value());
  // What is locked is refused in time to look at the rest.
  const auto patience = std::chrono::duration_cast<std::chrono::seconds>(to_.link.connect_limit / 8);
  ask("SET SESSION lock_wait_timeout = " + std::to_string(std::max<std::int64_t>(patience.count(), 1)));
  // What is refused leaves the other parts as they are. An answer that does not come ends the examination,
  // because the session is of no use then.
  const auto examine_part = [&](const char* part, const std::function<void()>& read) {
    std::string problem = "the session is over";
    try {
      if (is_answered_) return read();
    } catch (const connection_error& c) {
      problem = c.reason.message;
    }
    found.add_unread(part, problem);
  };
  examine_part("settings", [&] {
    ask(sql::mariadb::text::conditions);
    set_all(said, column_);
    if (said.text("transaction_read_only") == "yes") {
      said.set(
          "server_refusal",
          "its transactions are READ ONLY; SET GLOBAL tx_read_only = OFF (MySQL: transaction_read_only), "
          "and in the option file");
    }
  });
  examine_part("server", [&] {
    try {
      check_server();
    } catch (const connection_error& c) {
      said.set("server_refusal", c.reason.message);
    }
    said.set_flag("is_usable", !said.has("server_refusal"));
  });
  examine_part("replicas", [&] {
    if (!is_mariadb) return;
    ask("SELECT CONCAT('slaves_connected=', variable_value) FROM information_schema.global_status "
        "WHERE variable_name = 'Slaves_connected'");
    set_all(said, column_);
  });
  examine_part("clock", [&] {
    doctor::set_clock(said, runtime::clock_ahead([this] {
                        return std::chrono::microseconds{sql::number_in(
                            text("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)"))};
                      }));
  });
  examine_part("store", [&] { read_store(said); });
  examine_part("rights of others", [&] {
    const bool sees = may_see(with_names(sql::mariadb::text::writers));
    said.set_flag("sees_writers", sees);
    if (!sees) return;
    said.set("writers", static_cast<std::int64_t>(column_.size()));
    examine_excess(said.subject, found.more);
  });
  return found.conclude(conditions::server_conditions);
}

/// A statement of protocol/*.sql for the tables and procedures of this store.
std::string opening::with_names(std::string_view statement) const {
  std::string all{statement};
  for (const auto& [word, text] : {std::pair<std::string_view, std::string>{"{SCHEMA}", to_.schema},
                                   {"{TABLES}", listed(sql::mariadb::table_parts())},
                                   {"{PROCEDURES}", listed(sql::mariadb::procedure_parts())}}) {
    for (auto at = all.find(word); at != std::string::npos; at = all.find(word, at + text.size()))
      all.replace(at, word.size(), text);
  }
  return all;
}

/// The lines of writers.sql.
void opening::examine_excess(const std::string& subject, std::vector<finding>& to) const {
  for (std::string_view line : column_) {
    facts one{subject};
    for (const char* name : {"account", "name", "rights", "object", "part"}) {
      const std::string_view value = line.substr(0, line.find('\x1f'));
      line.remove_prefix(std::min(line.size(), value.size() + 1));
      one.set(name, value);
    }
    const bool is_of_columns = !one.text("part").empty();
    one.set("range", is_of_columns ? " of columns" : "");
    one.set("remedy",
            doctor::fill(is_of_columns ? "SHOW GRANTS FOR {name}; REVOKE what names columns of {object}"
                                       : "REVOKE {rights} ON {object} FROM {name}",
                         one));
    doctor::examine(conditions::excess_conditions, one, to);
  }
}

/// Makes nothing.
void opening::read_store(facts& to) {
  to.set("table", names_.plain());
  make_ = sql::provision::none;
  try {
    static_cast<void>(provide_tables(sql::mariadb::existing::kept));
    if (bare_)
      to.set("shortage", "there is no " + names_.plain() + ", or this user may not call its procedures");
    if (!bare_) to.set_flag("outdated", !look_at_procedures().current);
  } catch (const connection_error& c) {
    if (c.retryable) throw;
    to.set("schema_refusal", c.reason.message);
  }
  ask(
      with_names("SELECT routine_name FROM information_schema.routines WHERE routine_schema = '{SCHEMA}' AND "
                 "routine_type = 'PROCEDURE' AND routine_name IN ({PROCEDURES})"));
  std::string lacking;
  for (const std::string_view each : sql::mariadb::procedure_parts()) {
    if (std::ranges::find(column_, names_.bare(each)) == column_.end())
      lacking.append(lacking.empty() ? "" : " ").append(names_.bare(each));
  }
  to.set("routines", static_cast<std::int64_t>(column_.size()));
  to.set_flag("is_there", !column_.empty());
  to.set_flag("may_make", true);
  to.set("lacking", lacking);
}

/// Asks what only a user with more rights may see. \return whether it may.
bool opening::may_see(const std::string& statement) {
  const auto refused = try_to_ask(statement);
  if (!refused) return true;
  const connection_error refusal = refused_entry(refused->number, refused->sentence);
  if (refusal.reason.code == errc::permission_denied) return false;
  throw connection_error{refusal};
}

std::vector<finding> diagnose(const settings& of) {
  const runtime::wakeup_fd never;
  const owner_id nobody;
  return opening{of, nobody, role::calls, never.descriptor()}.examine();
}

}  // namespace holdfast::mariadb
