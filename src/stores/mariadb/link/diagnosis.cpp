#include "stores/mariadb/link/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/measurement.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/mariadb/link/opening.hpp"
#include "stores/mariadb/protocol/server_facts.hpp"

namespace holdfast::mariadb {

using runtime::connection_error;

namespace {

using sql::mariadb::server_facts;

std::pair<std::string, std::string> parts_of(const std::string& line, char between) {
  const std::size_t at = std::min(line.find(between), line.size());
  return {line.substr(0, at), line.substr(std::min(at + 1, line.size()))};
}

}  // namespace

server_facts opening::examine() {
  begin();
  check_version();
  server_facts facts;
  facts.place = to_.link.place;
  facts.is_mariadb = mariadb_connection(session_.get()) != 0;
  ask(sql::mariadb::conditions());
  for (const std::string& line : column_) facts.said.insert(parts_of(line, '='));
  ask(std::string{"SELECT CONCAT(LOWER(variable_name), '=', variable_value) FROM "} +
      (facts.is_mariadb ? "information_schema" : "performance_schema") +
      ".global_status WHERE variable_name IN ('Threads_connected', 'Prepared_stmt_count', "
      "'Slaves_connected')");
  for (const std::string& line : column_) facts.said.insert(parts_of(line, '='));
  facts.clock_ahead = runtime::clock_ahead([this] {
    return std::chrono::microseconds{
        sql::number_in(text("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)"))};
  });
  facts.round_trip = runtime::round_trip([this] { ask("DO 0"); });
  read_store(facts);
  read_others(facts);
  return facts;
}

void opening::read_store(server_facts& to) {
  try {
    const found_procedures procedures = look_at_procedures();
    to.untrusted = procedures.untrusted;
    to.current = procedures.current;
    check_tables();
  } catch (const connection_error& c) {
    if (c.reason.code != errc::foreign_store) throw;
    to.foreign = c.reason.message;
    return;
  }
  ask("SELECT routine_name FROM information_schema.routines WHERE routine_schema = '" + to_.schema +
      "' AND routine_type = 'PROCEDURE' AND routine_name IN (" + listed(sql::mariadb::procedure_parts()) +
      ")");
  for (const std::string& name : column_) to.procedures.push_back(name.substr(to_.table.size() + 1));
  if (!to.untrusted.empty()) return;  // nothing of it is called
  try {
    to.layout = layout();
  } catch (const connection_error& c) {
    if (c.reason.code != errc::permission_denied) throw;
    if (!to.procedures.empty()) to.refusal = c.reason.message;
  }
}

/// What only a user with more rights may see.
void opening::read_others(server_facts& to) {
  const std::string account = "CONCAT(User, '@', Host)";
  const std::string other =
      account + " <> CURRENT_USER() AND " + account +
      " NOT IN (SELECT definer FROM information_schema.routines WHERE routine_schema = '" + to_.schema +
      "' AND routine_name IN (" + listed(sql::mariadb::procedure_parts()) + "))";
  if (!try_to_ask("SELECT " + account + " FROM mysql.db WHERE '" + to_.schema +
                  "' LIKE Db AND 'Y' IN (Insert_priv, Update_priv, Delete_priv) AND " + other +
                  " UNION SELECT " + account + " FROM mysql.tables_priv WHERE Db = '" + to_.schema +
                  "' AND Table_name IN (" + listed(sql::mariadb::table_parts()) +
                  ") AND Table_priv REGEXP 'Insert|Update|Delete' AND " + other)) {
    to.writers = column_;
  }
  // Times of that table are in the time zone of the server.
  if (!try_to_ask(
          "SELECT CONCAT(trx_mysql_thread_id, '=', TIMESTAMPDIFF(SECOND, CONVERT_TZ(trx_started, 'SYSTEM', "
          "'+00:00'), UTC_TIMESTAMP())) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> "
          "CONNECTION_ID() ORDER BY trx_started")) {
    auto& all = to.transactions.emplace();
    for (const std::string& line : column_) {
      const auto [thread, age] = parts_of(line, '=');
      all.emplace_back(thread, std::chrono::seconds{sql::number_in(age)});
    }
  }
}

std::vector<finding> diagnose(const settings& of) {
  const runtime::wakeup_fd never;
  const owner_id nobody;
  opening session{of, nobody, role::calls, never.descriptor()};
  return sql::mariadb::findings_of(session.examine(), of.names(), of.create);
}

}  // namespace holdfast::mariadb
