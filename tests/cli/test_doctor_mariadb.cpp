// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor` on real MariaDB servers.

#include <chrono>

#include "doctor_fixture.hpp"
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

/// Each state begins with statements of the superuser, and ends with others that take it back.
TEST_F(doctor_on_mariadb, says_of_a_store_in_each_state_what_the_golden_file_has) {
  mariadb_server server{
      {.options = durable({"--log-bin=log", "--server-id=1", "--sync-binlog=1"}), .own_clock = true}};
  make_store(server);
  for (const char* statement : {"CREATE USER looker@'%'", "CREATE TABLE theirs (name TEXT)",
                                "GRANT EXECUTE ON locks.* TO worker@'%'"})
    server.ask(statement);
  for (const char* each : {"layout", "acquire", "find"})
    server.ask(std::string{"GRANT EXECUTE ON PROCEDURE locks.own_"} + each + " TO looker@'%'");

  doctor_record said{"mariadb"};
  for (const char* each : {"/holdfast", "/locks", "/latin", ""})
    said.replace("127.0.0.1:" + std::to_string(server.port()) + each, "SERVER");
  said.replace_all("kept: MariaDB .*", "kept: MariaDB N");
  said.replace_all(R"(clock is (599\d+|60\d+) m?s)", "clock is 10 min");
  const auto own = place(server);
  const auto as = [&](const std::string& user) {
    return "mysql://" + user + "@127.0.0.1:" + std::to_string(server.port()) +
           "/locks?table=own&connect_timeout=1m";
  };
  const auto layout = [](const std::string& number) {
    return "CREATE OR REPLACE DEFINER = holdfast@'%' PROCEDURE locks.own_layout() COMMENT 'Holdfast " +
           number + "' SELECT " + number;
  };
  const auto global = [](const std::string& assignment) { return strings{"SET GLOBAL " + assignment}; };
  const std::vector<state> states{
      {"all in order", own},
      {"no store yet", server.url()},
      {"no store, and create=0", server.url("?create=0")},
      {"a table that is not Holdfast's", server.url("?table=theirs")},
      {"commits are written later", own, global("innodb_flush_log_at_trx_commit = 2")},
      {"the same, with mode=session", own + "&mode=session"},
      {"commits are written one by one", own, global("innodb_flush_log_at_trx_commit = 3"),
       global("innodb_flush_log_at_trx_commit = 1")},
      {"the binary log is written later", own, global("sync_binlog = 0"), global("sync_binlog = 1")},
      {"it takes no writes", own, global("read_only = ON"), global("read_only = OFF")},
      {"transactions that only read", own, global("tx_read_only = ON"), global("tx_read_only = OFF")},
      {"no statement may read many rows", own, global("max_join_size = 1")},
      {"none may read very many", own, global("max_join_size = 4000000000"),
       global("max_join_size = DEFAULT")},
      {"procedures of another version",
       own,
       {"ALTER PROCEDURE locks.own_evict COMMENT 'Holdfast 2 0000000000000000'"}},
      {"another layout", own, {layout("1")}, {layout("2")}},
      {"one that runs with the rights of its caller",
       as("worker"),
       {"ALTER PROCEDURE locks.own_evict SQL SECURITY INVOKER"},
       {"ALTER PROCEDURE locks.own_evict SQL SECURITY DEFINER"}},
      {"a user who may do a part of it", as("looker")},
      {"a user who may lock", as("worker")},
      {"a user may write a table",
       own,
       {"GRANT UPDATE ON locks.own_claims TO worker@'%'"},
       {"REVOKE UPDATE ON locks.own_claims FROM worker@'%'"}},
      {"a user may write the database",
       own,
       {"GRANT SELECT, DELETE ON locks.* TO worker@'%'"},
       {"REVOKE SELECT, DELETE ON locks.* FROM worker@'%'"}},
      {"a user may write a column",
       own,
       {"GRANT UPDATE (owner) ON locks.own_claims TO worker@'%'"},
       {"REVOKE UPDATE (owner) ON locks.own_claims FROM worker@'%'"}},
      {"a user of an odd name may replace all",
       own,
       {"CREATE USER 'o''b\\\\c'@'%'",
        "GRANT DROP, ALTER, TRIGGER, ALTER ROUTINE, CREATE ROUTINE ON `lo%`.* TO 'o''b\\\\c'@'%'"},
       {"DROP USER 'o''b\\\\c'@'%'"}},
      {"the maker of the procedures is gone", as("worker"), {"DROP USER holdfast@'%'"}},
  };
  look_at_each(said, server, states, [&](const std::string& name) {
    if (name.starts_with("one that runs")) {
      EXPECT_EQ(holdfast({"schema", own, "--apply"}).status, 0);
    }
  });
  server.set_clock(10min);
  look(said, "the server's clock is wrong", as("worker"));
  said.compare();
}

TEST_F(doctor_on_mariadb, finds_a_server_in_order) {
  mariadb_server server{{.options = durable({"--log-bin=log", "--server-id=1", "--sync-binlog=1"})}};
  make_store(server);
  const auto before = server.ask("SELECT @@global.gtid_binlog_pos");
  const auto run = holdfast({"doctor", "--store", place(server), "--all"});
  EXPECT_EQ(run.status, status_in_order()) << run.out << run.err;
  EXPECT_THAT(of_store(run.out),
              AllOf(HasSubstr("/holdfast: all 9 checks passed"),
                    HasSubstr("kept     persistence: innodb_flush_log_at_trx_commit is 1"),
                    HasSubstr("kept     rights: the user holdfast@% may call all routines"),
                    HasSubstr("kept     schema: locks.own fits this version"), Not(HasSubstr("mend:"))));
  EXPECT_EQ(server.ask("SELECT @@global.gtid_binlog_pos"), before) << "it writes nothing";
}

TEST_F(doctor_on_mariadb, tells_a_store_that_is_away_as_other_commands_do) {
  expect_out_of_reach("mysql://127.0.0.1:1/holdfast");
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
  is(condition(replica.url(), "server"), "broken", "the server is a read-only replica");
}

TEST_F(doctor_on_mariadb, finds_settings_that_sessions_do_not_override) {
  mariadb_server server{{.options = durable()}};
  make_store(server);
  const auto works = [&] {
    return holdfast({"run", "x", "--wait", "5s", "--store", place(server), "--", "true"}).status == 0;
  };
  EXPECT_TRUE(works());
  for (const std::string name : {"tx_read_only = ", "max_join_size = "}) {
    server.ask("SET GLOBAL " + name + "1");
    EXPECT_FALSE(works()) << name;
    server.ask("SET GLOBAL " + name + "DEFAULT");
  }
  EXPECT_TRUE(works());
  mariadb_server careless{{.options = durable({"--innodb-flush-method=nosync"})}};
  is(condition(careless.url(), "persistence"), "broken", "innodb_flush_method is nosync");
}

TEST_F(doctor_on_mariadb, says_what_it_could_not_examine) {
  mariadb_server server;
  make_store(server);
  const auto other = server.console();
  other->ask("LOCK TABLES mysql.db WRITE");
  const auto store = server.url("?table=locks.own&connect_timeout=8s");
  is(condition(store, "examination"), "unknown",
     "the rights of others could not be examined: Lock wait timeout", "examine again");
  is_kept(condition(store, "schema"), "fits this version");
}

}  // namespace
}  // namespace holdfast::test
