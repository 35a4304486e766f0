// `holdfast doctor` on real MariaDB servers.

#include <chrono>

#include "doctor_fixture.hpp"
#include "support/fault_proxy.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class doctor_on_mariadb : public doctor_test {
 protected:
  /// Options of a server that keeps its commits.
  static strings durable(strings more = {}) {
    more.insert(more.begin(), "--innodb-flush-log-at-trx-commit=1");
    return more;
  }
  /// With a database for locks, a user who may see all, and one who may do nothing yet.
  static void make_users(mariadb_server& server) {
    for (const char* statement :
         {"CREATE DATABASE locks", "GRANT ALL ON locks.* TO holdfast@'%'",
          "GRANT PROCESS ON *.* TO holdfast@'%'", "GRANT SELECT ON mysql.db TO holdfast@'%'",
          "GRANT SELECT ON mysql.tables_priv TO holdfast@'%'", "CREATE USER worker@'%'"}) {
      server.ask(statement);
    }
  }
  void make_store(mariadb_server& server) {
    make_users(server);
    const auto made = holdfast({"schema", place(server), "--apply"});
    EXPECT_EQ(made.status, 0) << made.err;
  }
  static std::string place(const mariadb_server& server) {
    return server.url("?table=locks.own&connect_timeout=1m");
  }
  static std::string place_of_worker(const mariadb_server& server) {
    return "mysql://worker@127.0.0.1:" + std::to_string(server.port()) +
           "/locks?table=own&connect_timeout=1m";
  }
};

TEST_F(doctor_on_mariadb, finds_a_server_in_order) {
  mariadb_server server{{.options = durable({"--log-bin=log", "--server-id=1", "--sync-binlog=1"})}};
  make_store(server);
  const auto before = server.ask("SELECT @@global.gtid_binlog_pos");
  const auto run = holdfast({"doctor", "--store", place(server), "--all"});
  EXPECT_EQ(run.status, status_in_order()) << run.out << run.err;
  EXPECT_THAT(
      of_store(run.out),
      AllOf(HasSubstr("/holdfast: all 14 checks passed"),
            HasSubstr("kept     persistence: innodb_flush_log_at_trx_commit is 1"),
            HasSubstr("kept     rights: the user holdfast@% may call all procedures"),
            HasSubstr("kept     schema: locks.own is that of this version"), Not(HasSubstr("mend:"))));
  EXPECT_EQ(server.ask("SELECT @@global.gtid_binlog_pos"), before) << "it writes nothing";
}

TEST_F(doctor_on_mariadb, tells_a_store_that_is_away_as_other_commands_do) {
  expect_out_of_reach("mysql://127.0.0.1:1/holdfast");
}

TEST_F(doctor_on_mariadb, finds_a_server_that_is_far_away) {
  mariadb_server server;
  make_store(server);
  fault_proxy far{server.port()};
  far.interfere(direction::to_client, {.delay = 100ms});
  const auto url = "mysql://holdfast:secret@127.0.0.1:" + std::to_string(far.port()) +
                   "/holdfast?table=locks.own&connect_timeout=1m";
  is(condition(url, "latency"), "warning", "a round trip takes ", "run clients nearer to the server");
}

TEST_F(doctor_on_mariadb, finds_commits_that_a_crash_takes_back) {
  mariadb_server server;
  is(condition(server.url(), "persistence"), "broken", "innodb_flush_log_at_trx_commit is 2",
     "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
  server.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
  is_kept(condition(server.url(), "persistence"), "innodb_flush_log_at_trx_commit is 1");
  server.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 3");
  is_kept(condition(server.url(), "persistence"), "innodb_flush_log_at_trx_commit is 3");
  server.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
  const auto session = condition(server.url("?mode=session"), "persistence");
  is(session, "warning", "innodb_flush_log_at_trx_commit is 0", "innodb_flush_log_at_trx_commit = 1");
  EXPECT_THAT(session["meaning"].get<std::string>(), HasSubstr("tokens may repeat"));
  mariadb_server torn{{.options = durable({"--skip-innodb-doublewrite"})}};
  is(condition(torn.url(), "persistence"), "warning", "innodb_doublewrite is off", "innodb_doublewrite = ON");
}

TEST_F(doctor_on_mariadb, finds_a_binary_log_that_forgets_or_refuses) {
  mariadb_server server{{.options = durable({"--log-bin=log", "--server-id=1"})}};
  is(condition(server.url(), "persistence"), "broken", "sync_binlog is 0", "SET GLOBAL sync_binlog = 1");
  server.ask("SET GLOBAL sync_binlog = 1");
  is_kept(condition(server.url(), "persistence"), "");
  is_kept(condition(server.url(), "binary log"), "binlog_format is MIXED");
  server.ask("SET GLOBAL binlog_format = STATEMENT");
  is(condition(server.url(), "binary log"), "broken", "STATEMENT", "binlog_format = MIXED");
}

TEST_F(doctor_on_mariadb, finds_a_replica) {
  mariadb_server primary{{.options = durable({"--log-bin=log", "--server-id=1"})}};
  is_kept(condition(primary.url(), "replicas"), "no replica is connected");
  primary.ask("CREATE USER replica@'%'");
  primary.ask("GRANT REPLICATION SLAVE ON *.* TO replica@'%'");
  mariadb_server replica{{.options = {"--server-id=2", "--read-only"}}};
  replica.ask("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_USER = 'replica', MASTER_PORT = " +
              std::to_string(primary.port()));
  replica.ask("START SLAVE");
  ASSERT_TRUE(eventually([&] { return primary.status("Slaves_connected") == 1; }));
  is(condition(primary.url(), "replicas"), "warning", "it has 1 replica", "fail over to none that lags");
  is(condition(replica.url(), "role"), "broken", "read_only is", "lead to the primary");
}

TEST_F(doctor_on_mariadb, finds_a_store_that_is_missing_foreign_or_of_another_version) {
  mariadb_server server;
  is_kept(condition(server.url(), "schema"), "the first client that locks makes it");
  is(condition(server.url("?create=0"), "schema"), "broken", "and create=0", "--apply");
  server.ask("CREATE TABLE theirs (name TEXT)");
  is(condition(server.url("?table=theirs"), "schema"), "broken", "is not Holdfast's", "table=");
  make_store(server);
  server.ask("ALTER PROCEDURE locks.own_evict COMMENT 'Holdfast 1 0000000000000000'");
  is(condition(place(server), "schema"), "warning", "of another version", "--apply");
  server.ask("ALTER PROCEDURE locks.own_evict SQL SECURITY INVOKER");
  is_kept(condition(place(server), "rights"), "may call all procedures");
  server.ask("GRANT EXECUTE ON locks.* TO worker@'%'");
  is(condition(place_of_worker(server), "schema"), "broken",
     "own_evict would run with the rights of its caller", "--apply");
}

TEST_F(doctor_on_mariadb, finds_procedures_whose_maker_is_gone) {
  mariadb_server server;
  make_store(server);
  server.ask("GRANT EXECUTE ON locks.* TO worker@'%'");
  is_kept(condition(place_of_worker(server), "schema"), "that of this version");
  server.ask("DROP USER holdfast@'%'");
  is(condition(place_of_worker(server), "schema"), "broken", "the procedures do not work", "--apply");
}

TEST_F(doctor_on_mariadb, finds_rights_that_are_missing) {
  mariadb_server server;
  make_store(server);
  for (const char* each : {"layout", "acquire", "find"})
    server.ask(std::string{"GRANT EXECUTE ON PROCEDURE locks.own_"} + each + " TO worker@'%'");
  const auto store = place_of_worker(server);
  is(condition(store, "rights"), "broken", "may not call own_look own_renew", "GRANT EXECUTE ON PROCEDURE");
  server.ask("GRANT EXECUTE ON locks.* TO worker@'%'");
  is_kept(condition(store, "rights"), "may call all procedures");
  is(condition(store, "access"), "unknown", "may not see who else",
     "GRANT SELECT ON mysql.db TO 'worker'@'%'");
  is(condition(store, "transactions"), "unknown", "may not see the transactions", "GRANT PROCESS ON *.*");
}

TEST_F(doctor_on_mariadb, finds_rights_that_nobody_needs) {
  mariadb_server server;
  make_store(server);
  is_kept(condition(place(server), "access"), "no other user");
  server.ask("GRANT UPDATE ON locks.own_claims TO worker@'%'");
  is(condition(place(server), "access"), "warning", "the user worker@% has UPDATE on `locks`.`own_claims`",
     "REVOKE UPDATE ON `locks`.`own_claims` FROM 'worker'@'%'");
  server.ask("REVOKE UPDATE ON locks.own_claims FROM worker@'%'");
  server.ask("GRANT SELECT, DELETE ON locks.* TO worker@'%'");
  is(condition(place(server), "access"), "warning", "the user worker@% has DELETE on `locks`.*",
     "REVOKE DELETE ON `locks`.* FROM 'worker'@'%'");
  server.ask("REVOKE ALL ON locks.* FROM worker@'%'");
  is_kept(condition(place(server), "access"), "by a grant on this database or its tables");
  server.ask("GRANT UPDATE (owner) ON locks.own_claims TO worker@'%'");
  is(condition(place(server), "access"), "warning", "the user worker@% has UPDATE of columns on",
     "SHOW GRANTS FOR 'worker'@'%'");
  server.ask("REVOKE UPDATE (owner) ON locks.own_claims FROM worker@'%'");
  server.ask("CREATE USER 'o''b\\\\c'@'%'");
  server.ask("GRANT DROP, ALTER, TRIGGER, ALTER ROUTINE, CREATE ROUTINE ON `lo%`.* TO 'o''b\\\\c'@'%'");
  const auto found = condition(place(server), "access");
  is(found, "warning", "the user o'b\\c@% has DROP, ALTER, TRIGGER, ALTER ROUTINE, CREATE ROUTINE on `lo%`.*",
     "ON `lo%`.* FROM 'o''b\\\\c'@'%'");
  server.ask(found["remedy"].get<std::string>());
  is_kept(condition(place(server), "access"));
}

TEST_F(doctor_on_mariadb, finds_rights_of_its_own_user_that_it_does_not_need) {
  mariadb_server server;
  make_store(server);
  server.ask("GRANT EXECUTE ON locks.* TO worker@'%'");
  const auto own = [&] {
    std::vector<json> all;
    for (const auto& each : findings(place_of_worker(server), {}))
      if (each["condition"] == "access" && each["result"] == "warning") all.push_back(each);
    return all;
  };
  EXPECT_TRUE(own().empty());
  for (const char* more : {"SELECT, INSERT, UPDATE ON `lo_k%`.*", "UPDATE ON locks.own_claims",
                           "DROP, PROCESS ON *.*", "ALL PRIVILEGES ON *.*"}) {
    server.ask(std::string{"GRANT "} + more + " TO worker@'%'");
    const auto found = own();
    ASSERT_EQ(found.size(), 1U) << more;
    is(found.front(), "warning", "the user worker@% of this URL has ", "REVOKE ");
    const std::string remedy = found.front()["remedy"];
    server.ask(remedy.substr(0, remedy.find(';')));
    EXPECT_TRUE(own().empty()) << remedy;
  }
  server.ask("GRANT DELETE ON other.* TO worker@'%'");
  server.ask("GRANT UPDATE (owner) ON locks.own_claims TO worker@'%'");
  ASSERT_EQ(own().size(), 1U);
  is(own().front(), "warning", "of this URL has UPDATE of columns on `locks`.`own_claims`",
     "SHOW GRANTS FOR 'worker'@'%'");

  server.ask("REVOKE UPDATE (owner) ON locks.own_claims FROM worker@'%'");
  is_kept(condition(place(server), "access"), "no other user");
  server.ask("GRANT UPDATE ON *.* TO holdfast@'%'");
  is(condition(place(server), "access"), "warning", "the user holdfast@% of this URL has UPDATE on *.*",
     "REVOKE UPDATE ON *.* FROM 'holdfast'@'%'");
}

TEST_F(doctor_on_mariadb, finds_rights_of_others_to_all_databases) {
  mariadb_server server;
  make_store(server);
  server.ask("GRANT INSERT, DROP ON *.* TO worker@'%'");
  is_kept(condition(place(server), "access"), "no other user");
  server.ask("GRANT SELECT ON mysql.* TO holdfast@'%'");
  is(condition(place(server), "access"), "warning", "the user worker@% has DROP, INSERT on *.*",
     "REVOKE DROP, INSERT ON *.* FROM 'worker'@'%'");
}

TEST_F(doctor_on_mariadb, finds_settings_that_sessions_do_not_override) {
  mariadb_server server{{.options = durable()}};
  make_store(server);
  const auto works = [&] {
    return holdfast({"run", "x", "--wait", "5s", "--store", place(server), "--", "true"}).status == 0;
  };
  ASSERT_TRUE(works());
  is_kept(condition(place(server), "role"), "it takes writes");
  server.ask("SET GLOBAL tx_read_only = ON");
  is(condition(place(server), "role"), "broken", "its transactions are READ ONLY",
     "SET GLOBAL tx_read_only = OFF");
  EXPECT_FALSE(works());
  server.ask("SET GLOBAL tx_read_only = OFF");
  is_kept(condition(place(server), "limits"), "as many rows as they need");
  server.ask("SET GLOBAL max_join_size = 1");
  is(condition(place(server), "limits"), "broken", "max_join_size is 1",
     "SET GLOBAL max_join_size = DEFAULT");
  EXPECT_FALSE(works());
  server.ask("SET GLOBAL max_join_size = 4000000000");
  is(condition(place(server), "limits"), "warning", "max_join_size is 4000000000");
  server.ask("SET GLOBAL max_join_size = DEFAULT");
  EXPECT_TRUE(works());
  mariadb_server careless{{.options = durable({"--innodb-flush-method=nosync"})}};
  is(condition(careless.url(), "persistence"), "broken", "innodb_flush_method is nosync");
  mariadb_server recovering{{.options = durable({"--innodb-force-recovery=1"})}};
  is(condition(recovering.url(), "role"), "broken", "innodb_force_recovery is 1");
}

TEST_F(doctor_on_mariadb, says_what_it_could_not_examine) {
  mariadb_server server;
  make_store(server);
  const auto other = server.console();
  other->ask("LOCK TABLES mysql.db WRITE");
  const auto store = server.url("?table=locks.own&connect_timeout=8s");
  is(condition(store, "examination"), "unknown",
     "the rights of others could not be examined: Lock wait timeout", "examine again");
  is_kept(condition(store, "schema"), "that of this version");
  is_kept(condition(store, "transactions"));
}

TEST_F(doctor_on_mariadb, finds_a_clock_that_is_wrong_and_a_transaction_that_is_old) {
  mariadb_server server{{.own_clock = true}};
  make_store(server);
  const auto other = server.console();
  other->ask("CREATE TABLE t (i INT) ENGINE = InnoDB");
  other->ask("BEGIN");
  other->ask("INSERT INTO t VALUES (1)");
  const auto session = other->ask("SELECT CONNECTION_ID()").at(0).at(0);
  is_kept(condition(place(server), "transactions"), "none is older than 300 s");
  server.set_clock(10min);
  is(condition(place(server), "clock"), "warning", "ahead of this host's", "timedatectl");
  is(condition(place(server), "transactions"), "warning", "the transaction of the session " + session,

     "look first: SELECT * FROM information_schema.processlist WHERE id = " + session + "; then KILL " +
         session);
}

TEST_F(doctor_on_mariadb, finds_connections_and_statements_that_run_out) {
  mariadb_server server{{.options = {"--max-connections=10", "--max-prepared-stmt-count=1"}}};
  is_kept(condition(server.url(), "connections"), "2 of 10 connections");
  is_kept(condition(server.url(), "statements"), "0 of 1 prepared statements");
  server.ask("PREPARE one FROM 'SELECT 1'");
  is(condition(server.url(), "statements"), "warning", "1 of 1 prepared statements",
     "max_prepared_stmt_count");
  std::vector<std::unique_ptr<mariadb_console>> others;
  for (int each = 0; each < 7; ++each) others.push_back(server.console());
  is(condition(server.url(), "connections"), "warning", "9 of 10 connections", "max_connections");
}

}  // namespace
}  // namespace holdfast::test
