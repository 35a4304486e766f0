#include "stores/mariadb/protocol/server_facts.hpp"

#include <algorithm>
#include <utility>

#include "stores/mariadb/protocol/texts.hpp"
#include "stores/sql/protocol/report.hpp"

namespace holdfast::sql::mariadb {

namespace {

using namespace std::chrono_literals;
using grade = finding::grade;

constexpr std::chrono::seconds old_transaction = 5min;  // its undo log makes busy names slow
constexpr const char* apply = "holdfast schema URL --apply, as a user with the rights";

std::string quoted(std::string_view name) {
  std::string all = "'";
  for (const char c : name) all.append(c == '\'' || c == '\\' ? 2 : 1, c);
  return all + '\'';
}

/// 'name'@'host' of name@host, in which a name may contain @. A role has no host.
std::string quoted_account(const std::string& account) {
  const std::size_t at = account.rfind('@');
  if (at == std::string::npos || at + 1 == account.size()) return quoted(account.substr(0, at));
  return quoted(account.substr(0, at)) + '@' + quoted(account.substr(at + 1));
}

std::string quoted_name(std::string_view name) {
  std::string all = "`";
  for (const char c : name) all.append(c == '`' ? 2 : 1, c);
  return all + '`';
}

/// The conditions of a server and a store, each with its findings.
class examination {
 public:
  examination(const server_facts& facts, const expectation& of)
      : facts_{facts}, names_{of.names}, create_{of.create}, session_{of.session}, found_{facts.place} {}

  std::vector<finding> run() && {
    if (facts_.has_read("settings")) examine_settings();
    if (facts_.has_read("store")) {
      examine_schema();
      examine_rights();
    }
    if (facts_.has_read("rights of this user"))
      for (const server_facts::grant& each : facts_.excess) add_excess(each);
    if (facts_.has_read("rights of others")) examine_access();
    if (facts_.has_read("transactions")) examine_transactions();
    if (facts_.has_read("clock")) {
      found_.add_clock(facts_.clock_ahead);
      found_.add_round_trip(facts_.round_trip);
    }
    found_.add_unread(facts_);
    return std::move(found_).take();
  }

 private:
  void examine_settings() {
    found_.kept("version", (facts_.is_mariadb ? "MariaDB " : "MySQL ") + facts_.value("version"));
    examine_role();
    examine_persistence();
    examine_binary_log();
    examine_limits();
    if (!facts_.has_read("counters")) return;
    examine_replicas();
    examine_cluster();
    found_.add_connections(facts_.number("threads_connected"), facts_.number("most_connections"),
                           "SET GLOBAL max_connections to more, and in the option file; or fewer clients");
    examine_statements();
  }

  void examine_role() {
    const std::string read_only = facts_.value("read_only");
    const std::string meaning = "it takes no writes: no lock can be acquired or renewed";
    if (facts_.is_on("transaction_read_only")) {
      return found_.add(
          "role", grade::broken, "its transactions are READ ONLY", meaning,
          "SET GLOBAL tx_read_only = OFF (MySQL: transaction_read_only), and in the option file");
    }
    if (const std::int64_t recovery = facts_.number("force_recovery");
        recovery != 0 || facts_.is_on("innodb_read_only")) {
      return found_.add(
          "role", grade::broken,
          recovery == 0 ? "innodb_read_only is on" : "innodb_force_recovery is " + std::to_string(recovery),
          recovery == 0 ? meaning : "from 4 on it takes no writes; below, damaged rows may be lost",
          "the option file without it, and a restart");
    }
    if (is_writable(read_only)) return found_.kept("role", "it takes writes");
    found_.add("role", grade::broken, "read_only is " + read_only,
               "it takes no writes: no lock can be acquired or renewed",
               "let the store's URL lead to the primary; or SET GLOBAL read_only = OFF, if this is it");
  }

  /// With mode=session a crash that takes back grants ends all sessions, too.
  void add_careless(const std::string& observed, const std::string& crash, const std::string& remedy) {
    const std::string takes_back = crash + " takes back the last grants that were answered, and ";
    if (session_) {
      return found_.add(
          "persistence", grade::warning, observed,
          takes_back + "ends all sessions: tokens may repeat, if the clock is set back meanwhile", remedy);
    }
    found_.add("persistence", grade::broken, observed, takes_back + "they are granted again", remedy);
  }

  /// Condition 2: it keeps what it has answered. MariaDB's 3 is 1 without the grouping of commits; MySQL has
  /// none.
  void examine_persistence() {
    const std::string flush = facts_.value("flush");
    if (flush != "1" && (flush != "3" || !facts_.is_mariadb)) {
      return add_careless("innodb_flush_log_at_trx_commit is " + flush, "a crash",
                          "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the option file");
    }
    if (facts_.is_on("log_bin") && facts_.value("sync_binlog") != "1") {
      return add_careless("there is a binary log, and sync_binlog is " + facts_.value("sync_binlog"),
                          "a crash of the machine", "SET GLOBAL sync_binlog = 1, and in the option file");
    }
    if (const std::string method = facts_.value("flush_method");
        method == "nosync" || method == "littlesync") {
      return add_careless("innodb_flush_method is " + method, "a crash of the machine",
                          "innodb_flush_method = O_DIRECT in the option file, and a restart");
    }
    if (const std::string twice = facts_.value("doublewrite"); twice == "0" || twice == "OFF") {
      return found_.add(
          "persistence", grade::warning, "innodb_doublewrite is off",
          "a power loss may damage the tables, unless the file system writes pages in one piece",
          "innodb_doublewrite = ON in the option file, and a restart");
    }
    found_.kept("persistence", "innodb_flush_log_at_trx_commit is " + flush);
  }

  void examine_binary_log() {
    if (!facts_.is_on("log_bin")) return found_.kept("binary log", "there is none");
    const std::string format = facts_.value("binlog_format");
    if (format != "STATEMENT") return found_.kept("binary log", "binlog_format is " + format);
    found_.add("binary log", grade::broken, "binlog_format is STATEMENT",
               "the server refuses what READ COMMITTED writes: no lock can be acquired",
               "SET GLOBAL binlog_format = MIXED, and in the option file");
  }

  /// Of what sessions of Holdfast do not set for themselves.
  void examine_limits() {
    constexpr std::int64_t most_rows = 1'000'000;  // of a listing of many names
    const std::string rows = facts_.value("max_join_size");
    if (facts_.is_on("big_selects"))
      return found_.kept("limits", "statements may read as many rows as they need");
    // A number that is longer than an integer is as good as none.
    const bool is_low = rows.size() < 10 && sql::number_in(rows) < most_rows;
    found_.add(
        "limits", is_low ? grade::broken : grade::warning, "max_join_size is " + rows,
        "the server refuses calls for which it expects to read more rows (error 1104): with a low limit no "
        "lock can be acquired",
        "SET GLOBAL max_join_size = DEFAULT, and in the option file");
  }

  void examine_replicas() {
    if (!facts_.is_on("log_bin")) return found_.kept("replicas", "there is no binary log, and so no replica");
    if (!facts_.is_mariadb) {
      return found_.add("replicas", grade::unknown, "MySQL does not say how many replicas it has",
                        "one that is promoted may not know the last grants, and grants them again",
                        "SHOW REPLICAS; no failover to a replica that lags");
    }
    const std::int64_t replicas = facts_.number("slaves_connected");
    if (replicas == 0) return found_.kept("replicas", "no replica is connected");
    found_.add("replicas", grade::warning,
               "it has " + std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas"),
               "a replica that is promoted may not know the last grants, and grants them again",
               "fail over to none that lags; SET GLOBAL rpl_semi_sync_master_enabled = ON loses less");
  }

  void examine_cluster() {
    const std::int64_t nodes = facts_.number("wsrep_cluster_size");
    if (nodes < 2) return;
    found_.add("cluster", grade::warning,
               "it is one of " + std::to_string(nodes) + " nodes of a Galera cluster",
               "that was not tested; each node ends leases by its own clock: clients at several nodes may "
               "hold at once",
               "one node in the URLs of all clients");
  }

  void examine_schema() {
    const std::string table = names_.plain();
    if (!facts_.foreign.empty()) {
      return found_.add("schema", grade::broken, facts_.foreign, "clients refuse it (errc::foreign_store)",
                        "name another table with table= in the URL");
    }
    if (!facts_.untrusted.empty()) {
      return found_.add("schema", grade::broken,
                        "the procedure " + facts_.untrusted + " would run with the rights of its caller",
                        "clients do not call it (errc::permission_denied)", apply);
    }
    if (!facts_.refusal.empty()) {
      return found_.add("schema", grade::broken, "the procedures do not work: " + facts_.refusal,
                        "nobody can lock, and leases are lost at their deadlines", apply);
    }
    if (facts_.layout > layout) {
      return found_.add("schema", grade::broken, table + " was made by a newer Holdfast",
                        "this version refuses it (errc::foreign_store)", "update this Holdfast");
    }
    if (facts_.layout == 0) return examine_absence();
    if (facts_.current) return found_.kept("schema", table + " is that of this version");
    found_.add("schema", grade::warning, "the procedures of " + table + " are those of another version",
               "they work, without what has been mended since if they are older",
               "with the newest version: holdfast schema URL --apply");
  }

  void examine_absence() {
    const std::string observed =
        "there is no " + names_.plain() + ", or this user may not call its procedures";
    if (!create_) {
      return found_.add("schema", grade::broken, observed + ", and create=0",
                        "locks fail with errc::unavailable", apply);
    }
    if (facts_.procedures.empty())
      return found_.kept("schema", observed + "; the first client that locks makes it, if it may");
    found_.add("schema", grade::warning, observed,
               "the next client that locks makes it, if it may: others fail", apply);
  }

  /// Too few of them. A user sees the procedures that it may call.
  void examine_rights() {
    if (facts_.procedures.empty()) return;
    std::string lacking;
    for (const std::string_view each : procedure_parts()) {
      if (std::ranges::find(facts_.procedures, each) == facts_.procedures.end())
        lacking.append(lacking.empty() ? "" : " ").append(names_.bare(each));
    }
    const std::string user = facts_.value("user");
    if (lacking.empty()) return found_.kept("rights", "the user " + user + " may call all procedures");
    found_.add(
        "rights", grade::broken, "the user " + user + " may not call " + lacking + ", or it is missing",
        "what needs it fails with errc::permission_denied; see docs/stores/mariadb.md",
        "GRANT EXECUTE ON PROCEDURE each TO " + quoted_account(user) + "; holdfast schema URL --apply");
  }

  /// Too many of them.
  void examine_access() {
    const std::string user = quoted_account(facts_.value("user"));
    if (!facts_.writers) {
      return found_.add(
          "access", grade::unknown, "this user may not see who else may write the tables",
          "whoever may write the tables may end everybody's locks, and nobody needs to",
          "GRANT SELECT ON mysql.db TO " + user + "; GRANT SELECT ON mysql.tables_priv TO " + user);
    }
    if (facts_.writers->empty()) {
      return found_.kept("access",
                         "no other user may write the tables by a grant on this database or its tables");
    }
    for (const server_facts::grant& each : *facts_.writers) add_writer(each);
  }
  void add_excess(const server_facts::grant& of) {
    if (of.account != facts_.value("user")) return add_writer(of);
    const std::string account = quoted_account(of.account);
    found_.add(
        "access", grade::warning,
        "the user " + of.account + " of this URL has " + of.rights + (of.of_columns ? " of columns" : "") +
            " on " + of.object,
        "programs with this URL may write or replace the tables and procedures, and end everybody's locks; "
        "to lock, EXECUTE is enough",
        of.of_columns ? "SHOW GRANTS FOR " + account + "; REVOKE what names columns of " + of.object
                      : "REVOKE " + of.rights + " ON " + of.object + " FROM " + account +
                            "; GRANT EXECUTE ON " + quoted_name(names_.schema()) + ".* TO " + account);
  }
  void add_writer(const server_facts::grant& of) {
    const std::string account = quoted_account(of.account);
    found_.add("access", grade::warning,
               "the user " + of.account + " has " + of.rights + (of.of_columns ? " of columns" : "") +
                   " on " + of.object,
               "whoever may write or replace the tables or procedures may end everybody's locks, and nobody "
               "needs to",
               of.of_columns ? "SHOW GRANTS FOR " + account + "; REVOKE what names columns of " + of.object
                             : "REVOKE " + of.rights + " ON " + of.object + " FROM " + account);
  }

  void examine_transactions() {
    if (!facts_.transactions) {
      return found_.add("transactions", grade::unknown, "this user may not see the transactions",
                        "while an old one is open, names that are locked often get slower and slower",
                        "GRANT PROCESS ON *.* TO " + quoted_account(facts_.value("user")));
    }
    for (const auto& [thread, age] : *facts_.transactions) {
      if (age < old_transaction) continue;
      return found_.add(
          "transactions", grade::warning,
          "the transaction of the session " + thread + " is " + sql::text_of(age) + " old",
          "no purge removes what was deleted since: names that are locked often get slower and slower",
          thread == "0" ? "XA RECOVER, and XA ROLLBACK of what nobody will commit"
                        : std::string{"look first: SELECT * FROM information_schema.processlist WHERE id = "}
                              .append(thread)
                              .append("; then KILL ")
                              .append(thread));
    }
    found_.kept("transactions", "none is older than " + sql::text_of(old_transaction));
  }

  void examine_statements() {
    const std::int64_t most = facts_.number("most_statements");
    const std::int64_t used = facts_.number("prepared_stmt_count");
    const std::string observed =
        std::to_string(used) + " of " + std::to_string(most) + " prepared statements are in use";
    if (!is_nearly_full(used, most)) return found_.kept("statements", observed);
    found_.add("statements", grade::warning, observed, "calls of new clients fail: each needs up to fourteen",
               "SET GLOBAL max_prepared_stmt_count to more, and in the option file");
  }

  const server_facts& facts_;
  const naming& names_;
  bool create_;
  bool session_;
  report found_;
};

}  // namespace

std::string_view conditions() { return text::conditions; }

bool server_facts::is_on(std::string_view name) const {
  const std::string text = value(name);
  return text == "ON" || text == "1";
}

std::vector<finding> findings_of(const server_facts& facts, const expectation& of) {
  return examination{facts, of}.run();
}

}  // namespace holdfast::sql::mariadb
