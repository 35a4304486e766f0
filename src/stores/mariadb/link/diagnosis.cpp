#include "stores/mariadb/link/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/measurement.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/mariadb/link/opening.hpp"
#include "stores/mariadb/protocol/own_grants.hpp"
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
  // What is locked is refused in time to look at the rest.
  const auto patience = std::chrono::duration_cast<std::chrono::seconds>(to_.link.connect_limit / 8);
  ask("SET SESSION lock_wait_timeout = " + std::to_string(std::max<std::int64_t>(patience.count(), 1)));
  examine_part(facts, "settings", [&] {
    ask(sql::mariadb::conditions());
    for (const std::string& line : column_) facts.said.insert(parts_of(line, '='));
  });
  examine_part(facts, "counters", [&] { read_counters(facts); });
  examine_part(facts, "clock", [&] {
    facts.clock_ahead = runtime::clock_ahead([this] {
      return std::chrono::microseconds{
          sql::number_in(text("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)"))};
    });
    facts.round_trip = runtime::round_trip([this] { ask("DO 0"); });
  });
  examine_part(facts, "store", [&] { read_store(facts); });
  examine_part(facts, "rights of this user", [&] { read_excess(facts); });
  examine_part(facts, "rights of others", [&] { read_writers(facts); });
  examine_part(facts, "transactions", [&] { read_transactions(facts); });
  return facts;
}

/// What is refused leaves the other parts as they are. An answer that does not come ends the examination,
/// because the session is of no use then.
void opening::examine_part(server_facts& to, const char* part, const std::function<void()>& read) {
  if (!is_answered_) {
    to.unread.emplace(part, to.unread.begin()->second);
    return;
  }
  try {
    read();
  } catch (const connection_error& c) {
    to.unread.emplace(part, c.reason.message);
  }
}

void opening::read_counters(server_facts& to) {
  ask(std::string{"SELECT CONCAT(LOWER(variable_name), '=', variable_value) FROM "} +
      (to.is_mariadb ? "information_schema" : "performance_schema") +
      ".global_status WHERE variable_name IN ('Threads_connected', 'Prepared_stmt_count', "
      "'Slaves_connected', 'wsrep_cluster_size')");
  for (const std::string& line : column_) to.said.insert(parts_of(line, '='));
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
  for (const std::string& name : column_) {
    if (name.size() > to_.table.size()) to.procedures.push_back(name.substr(to_.table.size() + 1));
  }
  if (!to.untrusted.empty()) return;  // nothing of it is called
  try {
    to.layout = layout();
  } catch (const connection_error& c) {
    if (c.reason.code != errc::permission_denied) throw;
    if (!to.procedures.empty()) to.refusal = c.reason.message;
  }
}

/// Asks what only a user with more rights may see. \return whether it may.
bool opening::may_see(const std::string& statement) {
  const auto refused = try_to_ask(statement);
  if (!refused) return true;
  const connection_error refusal = refused_entry(refused->number, refused->sentence);
  if (refusal.reason.code == errc::permission_denied) return false;
  throw connection_error{refusal};
}

void opening::read_writers(server_facts& to) {
  const std::string account = "CONCAT(User, '@', Host)";
  const std::string other =
      account + " <> CURRENT_USER() AND " + account +
      " NOT IN (SELECT definer FROM information_schema.routines WHERE routine_schema = '" + to_.schema +
      "' AND routine_name IN (" + listed(sql::mariadb::procedure_parts()) + "))";
  std::string of_database;
  for (const auto& [column, right] : {std::pair{"Insert", "INSERT"},
                                      {"Update", "UPDATE"},
                                      {"Delete", "DELETE"},
                                      {"Drop", "DROP"},
                                      {"Alter", "ALTER"},
                                      {"Trigger", "TRIGGER"},
                                      {"Alter_routine", "ALTER ROUTINE"},
                                      {"Create_routine", "CREATE ROUTINE"}}) {
    of_database.append(", IF(").append(column).append("_priv = 'Y', '").append(right).append("', NULL)");
  }
  const auto of_tables = [](const char* column, std::initializer_list<const char*> rights) {
    std::string all;
    for (const char* const right : rights) {
      all.append(", IF(FIND_IN_SET('").append(right).append("', ").append(column);
      all.append(") > 0, UPPER('").append(right).append("'), NULL)");
    }
    return all;
  };
  // Rights, object and account, as `parts_of` takes them.
  const auto row = [&](const std::string& rights, const std::string& object) {
    return "SELECT CONCAT(CONCAT_WS(', '" + rights + "), CHAR(31), " + object + ", CHAR(31), " + account +
           ")";
  };
  const std::string pattern = "CONCAT('`', REPLACE(Db, '`', '``'), '`.*')";
  const std::string table = "CONCAT('`', Db, '`.`', Table_name, '`')";
  const std::string ours = " FROM mysql.tables_priv WHERE Db = '" + to_.schema + "' AND Table_name IN (" +
                           listed(sql::mariadb::table_parts()) + ") AND " + other;
  const bool seen = may_see(
      row(of_database, pattern) + " FROM mysql.db WHERE '" + to_.schema + "' LIKE Db AND " + other +
      " UNION ALL " +
      row(of_tables("Table_priv", {"Insert", "Update", "Delete", "Drop", "Alter", "Trigger"}), table) + ours +
      " UNION ALL " +
      row(of_tables("Column_priv", {"Insert", "Update"}), "CONCAT('columns ', " + table + ")") + ours);
  if (!seen) return;
  auto& writers = to.writers.emplace();
  for (const std::string& line : column_) {
    const auto [rights, rest] = parts_of(line, '\x1f');
    auto [object, grantee] = parts_of(rest, '\x1f');
    constexpr std::string_view mark = "columns ";
    const bool of_columns = object.starts_with(mark);
    if (of_columns) object.erase(0, mark.size());
    if (!rights.empty()) writers.push_back({rights, object, grantee, of_columns});
  }
}

/// What this user may do, and what others may do in all databases who are no administrators. Whoever may not
/// see the others sees itself.
void opening::read_excess(server_facts& to) {
  const std::string user = to.value("user");
  ask("SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = '" + to_.schema +
      "' AND definer <> CURRENT_USER() AND routine_name IN (" + listed(sql::mariadb::procedure_parts()) +
      ")");
  const bool is_maker = !column_.empty() && column_.front() == "0";
  ask("SHOW GRANTS");
  for (const std::string& line : column_)
    if (auto excess = sql::mariadb::excess_in(line, names_, is_maker, user))
      to.excess.push_back(*std::move(excess));
  const std::string table = "information_schema.user_privileges";
  ask("SELECT CONCAT(GROUP_CONCAT(privilege_type ORDER BY privilege_type SEPARATOR ', '), CHAR(31), grantee) "
      "FROM " +
      table +
      " AS granted WHERE privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'DROP', 'ALTER', "
      "'TRIGGER', 'CREATE ROUTINE', 'ALTER ROUTINE') AND NOT EXISTS (SELECT 1 FROM " +
      table +
      " AS administrator WHERE administrator.grantee = granted.grantee AND "
      "administrator.privilege_type = 'SUPER') GROUP BY grantee");
  for (const std::string& line : column_) {
    auto [rights, grantee] = parts_of(line, '\x1f');
    // 'name'@'host', in which nothing is escaped.
    const std::size_t between = grantee.rfind("'@'");
    if (between == std::string::npos || between == 0) continue;
    const std::string account =
        grantee.substr(1, between - 1) + '@' + grantee.substr(between + 3, grantee.size() - between - 4);
    if (account != user) to.excess.push_back({rights, "*.*", account, false});
  }
}

void opening::read_transactions(server_facts& to) {
  // Times of that table are in the time zone of the server.
  if (!may_see(
          "SELECT CONCAT(trx_mysql_thread_id, '=', TIMESTAMPDIFF(SECOND, CONVERT_TZ(trx_started, 'SYSTEM', "
          "'+00:00'), UTC_TIMESTAMP())) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> "
          "CONNECTION_ID() ORDER BY trx_started")) {
    return;
  }
  auto& all = to.transactions.emplace();
  for (const std::string& line : column_) {
    const auto [thread, age] = parts_of(line, '=');
    all.emplace_back(thread, std::chrono::seconds{sql::number_in(age)});
  }
}

std::vector<finding> diagnose(const settings& of) {
  const runtime::wakeup_fd never;
  const owner_id nobody;
  opening session{of, nobody, role::calls, never.descriptor()};
  return sql::mariadb::findings_of(session.examine(), {of.names(), of.create, of.link.session.has_value()});
}

}  // namespace holdfast::mariadb
