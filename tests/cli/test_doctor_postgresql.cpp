// `holdfast doctor` on real PostgreSQL servers.

#include <algorithm>
#include <chrono>

#include "doctor_fixture.hpp"
#include "support/child_process.hpp"
#include "support/fault_proxy.hpp"
#include "support/postgresql_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class doctor_on_postgresql : public doctor_test {
 protected:
  /// With a store, and a user who sees others' sessions.
  static void make_store(postgresql_server& server, const std::string& more = {}) {
    EXPECT_EQ(server.ask("GRANT pg_read_all_stats TO holdfast;"
                         "CREATE ROLE worker LOGIN; CREATE SCHEMA locks AUTHORIZATION holdfast"),
              "");
    command({"schema", place(server) + more, "--apply"});
  }
  static void command(const strings& arguments) {
    strings all{HOLDFAST_COMMAND};
    all.insert(all.end(), arguments.begin(), arguments.end());
    EXPECT_EQ((child_process{all, {}}.wait(60s)), 0);
  }
  static std::string place(const postgresql_server& server) {
    return server.url("?table=locks.own&connect_timeout=1m");
  }
  static std::string place_of(const postgresql_server& server, const std::string& user) {
    return "postgresql://" + user + "@127.0.0.1:" + std::to_string(server.port()) +
           "/holdfast?table=locks.own&connect_timeout=1m";
  }
  static void set(postgresql_server& server, const std::string& assignment) {
    EXPECT_EQ(server.ask("ALTER SYSTEM SET " + assignment), "");
    EXPECT_EQ(server.ask("SELECT pg_reload_conf()"), "t");
  }
};

TEST_F(doctor_on_postgresql, finds_a_server_in_order) {
  // The next transaction that writes has this number, whatever the statistics know yet.
  const std::string next_writer = "SELECT pg_snapshot_xmax(pg_current_snapshot())";
  postgresql_server server{{.lines = {"autovacuum_naptime = 1d"}, .durable = true}};
  make_store(server);
  const auto before = server.ask(next_writer);
  const auto run = holdfast({"doctor", "--store", place(server), "--all"});
  EXPECT_EQ(run.status, status_in_order()) << run.out << run.err;
  EXPECT_THAT(of_store(run.out),
              AllOf(HasSubstr("/holdfast: all 15 checks passed"),
                    HasSubstr("kept     persistence: fsync is on, synchronous_commit is on"),
                    HasSubstr("kept     rights: the user holdfast may execute all"),
                    HasSubstr("kept     schema: locks.own is complete"), Not(HasSubstr("mend:"))));
  EXPECT_EQ(server.ask(next_writer), before) << "it writes nothing";
}

TEST_F(doctor_on_postgresql, tells_a_store_that_is_away_as_other_commands_do) {
  expect_out_of_reach("postgresql://127.0.0.1:1/holdfast");
}

TEST_F(doctor_on_postgresql, finds_a_password_that_the_server_does_not_ask_for) {
  const postgresql_server open;
  is(condition(place_of(open, "holdfast:mistyped"), "password"), "warning", "the server did not ask for it",
     "pg_hba.conf");
  const postgresql_server closed{{.password = "secret"}};
  for (const auto& each : findings(place(closed), {})) EXPECT_NE(each["condition"], "password");
}

TEST_F(doctor_on_postgresql, finds_a_server_that_is_far_away) {
  postgresql_server server{{.durable = true}};
  make_store(server);
  fault_proxy far{server.port()};
  far.interfere(direction::to_client, {.delay = 100ms});
  const auto url = server.url_through(far.port(), "?table=locks.own&connect_timeout=1m");
  is(condition(url, "latency"), "warning", "a round trip takes ", "run clients nearer to the server");
}

TEST_F(doctor_on_postgresql, finds_commits_that_a_crash_takes_back) {
  postgresql_server server;
  make_store(server, "&grant_lock=worker");
  is(condition(place(server), "persistence"), "broken", "fsync is off", "SET fsync = on");
  server.shut_down();
  postgresql_server durable{{.durable = true}};
  make_store(durable, "&grant_lock=worker");
  EXPECT_EQ(durable.ask("ALTER ROLE worker SET synchronous_commit = off"), "");
  is(condition(place(durable), "persistence"), "broken", "for the role worker, which may lock",
     "ALTER ROLE \"worker\" SET synchronous_commit = on");
  is(condition(place_of(durable, "worker"), "persistence"), "broken", "synchronous_commit is off",
     "ALTER ROLE \"worker\"");
  EXPECT_EQ(durable.ask("ALTER ROLE worker SET synchronous_commit = 'NO'"), "");
  is(condition(place(durable), "persistence"), "broken", "for the role worker, which may lock", "\"worker\"");
  // Of this database wins over that for all.
  EXPECT_EQ(durable.ask("ALTER ROLE worker IN DATABASE holdfast SET synchronous_commit = on"), "");
  is_kept(condition(place(durable), "persistence"));
  EXPECT_EQ(durable.ask("ALTER ROLE worker IN DATABASE holdfast RESET synchronous_commit"), "");
  EXPECT_EQ(durable.ask("ALTER ROLE worker RESET synchronous_commit;"
                        "ALTER DATABASE holdfast SET synchronous_commit = off"),
            "");
  is(condition(place(durable), "persistence"), "broken", "synchronous_commit is off", "ALTER DATABASE");
  EXPECT_EQ(durable.ask("ALTER ROLE holdfast SET synchronous_commit = on"), "");
  is(condition(place(durable), "persistence"), "broken", "for the database holdfast, and so for every role",
     "ALTER DATABASE \"holdfast\" SET synchronous_commit = on");
  EXPECT_EQ(durable.ask("ALTER DATABASE holdfast RESET synchronous_commit"), "");
  is_kept(condition(place(durable), "persistence"));
  durable.shut_down();
  postgresql_server torn{{.lines = {"full_page_writes = off"}, .durable = true}};
  is(condition(torn.url(), "persistence"), "warning", "full_page_writes is off", "full_page_writes = on");
}

TEST_F(doctor_on_postgresql, knows_that_a_crash_ends_sessions_too) {
  postgresql_server server{{.durable = true}};
  make_store(server, "&grant_lock=worker");
  const auto store = place(server) + "&mode=session";
  is_kept(condition(store, "persistence"));
  EXPECT_EQ(server.ask("ALTER ROLE worker SET synchronous_commit = off"), "");
  const auto found = condition(store, "persistence");
  is(found, "warning", "synchronous_commit is off for the role worker", "ALTER ROLE \"worker\"");
  EXPECT_THAT(found["meaning"].get<std::string>(), HasSubstr("tokens may repeat"));
  server.shut_down();
  postgresql_server torn;
  is(condition(torn.url("?mode=session"), "persistence"), "broken", "fsync is off", "SET fsync = on");
}

TEST_F(doctor_on_postgresql, finds_a_standby_and_a_user_who_may_only_read) {
  postgresql_server server;
  EXPECT_EQ(server.ask("ALTER ROLE holdfast SET default_transaction_read_only = on"), "");
  is(condition(server.url(), "role"), "broken", "default_transaction_read_only is on",
     "SET default_transaction_read_only = off");
  server.shut_down();
  server.start_as_standby();
  is(condition(server.url(), "role"), "broken", "it is a standby", "target_session_attrs=read-write");
}

TEST_F(doctor_on_postgresql, finds_a_standby_that_forgets_and_one_that_is_missing) {
  postgresql_server server;
  is_kept(condition(server.url(), "replicas"), "no standby");
  EXPECT_EQ(server.ask("COPY (SELECT 'local replication all trust') TO PROGRAM 'cat >>pg_hba.conf'"), "");
  EXPECT_EQ(server.ask("SELECT pg_reload_conf()"), "t");
  // A stand-by as the server sees it: what receives its log.
  child_process receiver{{postgresql_server::programs() + "/pg_receivewal", "--no-password", "--directory",
                          scratch_.path().string(), "--host", server.socket_folder(), "--port",
                          std::to_string(server.port()), "--username", "postgres"},
                         {.output = file("copy.log")}};
  ASSERT_TRUE(eventually([&] { return server.number("SELECT count(*) FROM pg_stat_replication") == 1; }));
  is(condition(server.url(), "replicas"), "warning", "it has 1 standby, and none is synchronous",
     "synchronous_standby_names");
  EXPECT_EQ(server.ask("GRANT pg_read_all_stats TO holdfast"), "");
  is(condition(server.url(), "replicas"), "warning", "it has 1 standby, and none is synchronous",
     "synchronous_standby_names = 'ANY 1 (\"pg_receivewal\")'; SELECT pg_reload_conf(); all commits of this "
     "server then wait for it: have two");
  EXPECT_EQ(server.ask("REVOKE pg_read_all_stats FROM holdfast"), "");
  set(server, "synchronous_standby_names = 'absent'");
  is(condition(server.url(), "replicas"), "unknown", "may not see of which kind",
     "GRANT pg_read_all_stats TO \"holdfast\"");
  receiver.kill();
  ASSERT_TRUE(eventually([&] { return server.number("SELECT count(*) FROM pg_stat_replication") == 0; }));
  is(condition(server.url(), "replicas"), "broken",
     "synchronous_standby_names asks for 1 standby, and 0 of its names are connected",
     "RESET synchronous_standby_names");
  set(server, "synchronous_commit = local");
  is(condition(server.url(), "replicas"), "warning", "synchronous_commit is local",
     "synchronous_commit = on");
}

TEST_F(doctor_on_postgresql, finds_a_standby_that_is_not_connected) {
  postgresql_server server;
  EXPECT_EQ(server.number("SELECT count(*) FROM pg_create_physical_replication_slot('second')"), 1);
  is(condition(server.url(), "replicas"), "warning", "no standby is connected, and 1 replication slot waits",
     "pg_drop_replication_slot('second')");
}

TEST_F(doctor_on_postgresql, finds_a_store_that_is_missing_incomplete_older_or_newer) {
  postgresql_server server;
  is_kept(condition(server.url(), "schema"), "the first client that locks makes it");
  is(condition(server.url("?create=0"), "schema"), "broken",
     "there is no public.holdfast_locks yet, and create=0", "holdfast schema URL --apply");
  make_store(server, "&grant_lock=worker");
  EXPECT_EQ(server.ask("DROP FUNCTION locks.own_annotate"), "");
  is(condition(place(server), "schema"), "warning", "the routine own_annotate(", "--apply");
  is(condition(place_of(server, "worker"), "schema"), "broken", "this user may not make it", "--apply");
  command({"schema", place(server), "--apply"});
  is_kept(condition(place(server), "schema"), "locks.own is complete");
  const auto say = [&](const std::string& revision) {
    EXPECT_EQ(
        server.ask("CREATE OR REPLACE FUNCTION locks.own_revision() RETURNS text LANGUAGE sql IMMUTABLE "
                   "AS 'SELECT ''" +
                   revision + "''::text'"),
        "");
  };
  say("1 x");
  is(condition(place(server), "schema"), "warning", "have revision 1, and this version has", "--apply");
  say("999 x");
  is_kept(condition(place(server), "schema"), "made by a newer Holdfast");
  EXPECT_EQ(server.ask("DROP FUNCTION locks.own_annotate"), "");
  is(condition(place(server), "schema"), "broken", "made by a newer Holdfast", "update this Holdfast");
  EXPECT_EQ(server.ask("CREATE TABLE public.theirs (name text); ALTER TABLE theirs OWNER TO holdfast"), "");
  is(condition(server.url("?table=theirs"), "schema"), "broken", "is not Holdfast's", "table=");
}

TEST_F(doctor_on_postgresql, finds_an_encoding_that_has_not_all_names) {
  postgresql_server server;
  EXPECT_EQ(
      server.ask("CREATE DATABASE latin OWNER holdfast ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"), "");
  const auto url = "postgresql://holdfast@127.0.0.1:" + std::to_string(server.port()) + "/latin";
  is(condition(url, "encoding"), "broken", "LATIN1", "ENCODING 'UTF8'");
}

TEST_F(doctor_on_postgresql, finds_a_clock_that_is_wrong_and_transactions_that_are_old) {
  postgresql_server server{{.lines = {"max_prepared_transactions = 1"}, .own_clock = true}};
  make_store(server);
  const auto other = server.console("holdfast");
  EXPECT_EQ(other->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"), "1");
  is_kept(condition(place(server), "transactions"), "none of this database is older than 300 s");
  server.set_clock(10min);
  is(condition(place(server), "clock"), "warning", "ahead of this host's", "timedatectl");
  is(condition(place(server), "transactions"), "warning",
     "the transaction of the session " + std::to_string(other->backend()),
     "look first: SELECT * FROM pg_stat_activity WHERE pid = " + std::to_string(other->backend()) +
         "; then SELECT pg_terminate_backend(");
  EXPECT_EQ(other->ask("ROLLBACK"), "");
  EXPECT_EQ(other->ask("BEGIN; CREATE TABLE t (); PREPARE TRANSACTION 'it''s'"), "");
  server.set_clock(20min);
  is(condition(place(server), "transactions"), "warning", "the prepared transaction it's",
     "if nobody will commit it: ROLLBACK PREPARED 'it''s'");
}

TEST_F(doctor_on_postgresql, says_where_the_user_may_not_look) {
  postgresql_server server;
  is(condition(server.url(), "transactions"), "unknown", "may not see the transactions of",
     "GRANT pg_read_all_stats TO \"holdfast\"");
}

TEST_F(doctor_on_postgresql, finds_rows_that_are_not_cleared_away) {
  postgresql_server server;
  make_store(server);
  EXPECT_EQ(server.ask("ALTER TABLE locks.own_claims SET (autovacuum_enabled = F)"), "");
  is(condition(place(server), "vacuum"), "warning", "autovacuum passes over own_claims",
     "ALTER TABLE \"locks\".\"own_claims\" RESET (autovacuum_enabled)");
  set(server, "autovacuum = off");
  ASSERT_TRUE(eventually([&] { return server.console()->ask("SHOW autovacuum") == "off"; }));
  is(condition(place(server), "vacuum"), "warning", "autovacuum is off", "SET autovacuum = on");
}

TEST_F(doctor_on_postgresql, finds_rights_that_are_missing) {
  postgresql_server server;
  make_store(server);
  is(condition(place_of(server, "worker"), "rights"), "broken", "lacks USAGE on the schema locks",
     "holdfast schema 'postgresql://holdfast@127.0.0.1:" + std::to_string(server.port()) +
         "/holdfast?grant_lock=worker&table=locks.own' --apply");
  command({"schema", place(server) + "&grant_look=worker", "--apply"});
  const auto lacking = condition(place_of(server, "worker"), "rights");
  is(lacking, "broken", "may not execute own_acquire", "grant_lock=worker");
  EXPECT_THAT(lacking["meaning"].get<std::string>(), HasSubstr("may look"));
  command({"schema", place(server) + "&grant_lock=worker", "--apply"});
  is_kept(condition(place_of(server, "worker"), "rights"), "the user worker may execute all routines");
  EXPECT_EQ(server.ask("REVOKE EXECUTE ON FUNCTION locks.own_layout() FROM public"), "");
  is(condition(place_of(server, "worker"), "rights"), "broken", "may not execute own_layout", "--apply");
  is(condition(place_of(server, "worker"), "schema"), "unknown", "may not execute own_layout", "TO PUBLIC");
}

TEST_F(doctor_on_postgresql, gives_a_command_that_grants) {
  postgresql_server server;
  EXPECT_EQ(server.ask("CREATE ROLE worker LOGIN"), "");
  command({"schema", server.url(), "--apply"});
  const auto socket = "postgresql:///holdfast?user=worker&host=" + server.socket_folder() +
                      "&port=" + std::to_string(server.port());
  const auto remedy = condition(socket, "rights")["remedy"].get<std::string>();
  const auto begin = remedy.find('\'') + 1;
  const auto url = remedy.substr(begin, remedy.rfind('\'') - begin);
  EXPECT_THAT(url, AllOf(HasSubstr("postgresql://holdfast@/holdfast?host=/"), Not(HasSubstr("table="))));
  command({"schema", url, "--apply"});
  is_kept(condition(socket, "rights"), "the user worker may execute all routines");
  const auto again = holdfast({"schema", url, "--apply"});
  EXPECT_THAT(again.out, HasSubstr("exist already, and the rights that the URL names are granted"));
}

TEST_F(doctor_on_postgresql, says_what_it_could_not_examine) {
  postgresql_server server{{.durable = true}};
  make_store(server);
  const auto other = server.console();
  EXPECT_EQ(other->ask("BEGIN; LOCK TABLE pg_catalog.pg_trigger"), "");
  const auto store = server.url("?table=locks.own&connect_timeout=8s");
  is(condition(store, "examination"), "unknown", "could not be examined: canceling statement",
     "examine again");
  // What comes before and after it is there.
  is_kept(condition(store, "persistence"));
  is_kept(condition(store, "clock"));
  EXPECT_EQ(other->ask("ROLLBACK"), "");
  EXPECT_EQ(server.ask("REVOKE SELECT ON pg_catalog.pg_prepared_xacts FROM public"), "");
  is(condition(store, "examination"), "unknown", "the transactions could not be examined: permission denied",
     "examine again");
  is_kept(condition(store, "schema"), "locks.own is complete");
  is_kept(condition(store, "pooler"), "there is none");
}

TEST_F(doctor_on_postgresql, finds_rights_that_nobody_needs) {
  postgresql_server server;
  make_store(server);
  EXPECT_EQ(server.ask("GRANT UPDATE ON locks.own_claims TO worker"), "");
  is(condition(place(server), "access"), "warning", "the role worker has UPDATE on own_claims",
     "REVOKE UPDATE ON TABLE \"locks\".\"own_claims\" FROM \"worker\"");
  EXPECT_EQ(server.ask("REVOKE ALL ON locks.own_claims FROM worker; GRANT SELECT ON locks.own TO public"),
            "");
  is(condition(place(server), "access"), "warning", "everybody has SELECT on own", "FROM PUBLIC");
  EXPECT_EQ(server.ask("REVOKE ALL ON locks.own FROM public; GRANT CREATE ON SCHEMA locks TO worker"), "");
  is(condition(place(server), "access"), "warning", "the role worker has CREATE on locks",
     "REVOKE CREATE ON SCHEMA \"locks\" FROM \"worker\"");
  EXPECT_EQ(server.ask("REVOKE CREATE ON SCHEMA locks FROM worker;"
                       "GRANT EXECUTE ON FUNCTION locks.own_evict, locks.own_renew TO public"),
            "");
  // Of these alone: everybody needs layout and revision.
  is(condition(place(server), "access"), "warning",
     "everybody has EXECUTE on own_evict(text, bigint, bigint), own_renew(bytea)",
     "REVOKE EXECUTE ON FUNCTION \"locks\".\"own_evict\"(text, bigint, bigint), "
     "\"locks\".\"own_renew\"(bytea) FROM PUBLIC");
  EXPECT_EQ(server.ask("REVOKE EXECUTE ON FUNCTION locks.own_evict(text, bigint, bigint), "
                       "locks.own_renew(bytea) FROM PUBLIC"),
            "");
  is_kept(condition(place(server), "access"), "no other role");
  EXPECT_EQ(server.ask("GRANT UPDATE (owner), SELECT (name) ON locks.own_claims TO worker"), "");
  const auto columns = condition(place(server), "access");
  is(columns, "warning", "the role worker has SELECT (name), UPDATE (owner) on own_claims",
     "REVOKE SELECT (name), UPDATE (owner) ON TABLE \"locks\".\"own_claims\" FROM \"worker\"");
  EXPECT_EQ(server.ask(columns["remedy"].get<std::string>()), "");
  is_kept(condition(place(server), "access"), "no other role");
}

TEST_F(doctor_on_postgresql, finds_members_of_the_owner) {
  postgresql_server server;
  make_store(server);
  EXPECT_EQ(server.ask("CREATE ROLE team; GRANT holdfast TO team; GRANT team TO worker"), "");
  const auto found = findings(place(server), {});
  const auto says = [&](const std::string& observed) {
    return std::ranges::any_of(found, [&](const json& each) { return each["observed"] == observed; });
  };
  EXPECT_TRUE(says("the role team is a member of holdfast")) << found;
  EXPECT_TRUE(says("the role worker is a member of team")) << found;
  EXPECT_EQ(server.ask("REVOKE holdfast FROM team; GRANT pg_write_all_data TO team; REVOKE team FROM worker"),
            "");
  is(condition(place(server), "access"), "warning", "the role team is a member of pg_write_all_data",
     "REVOKE \"pg_write_all_data\" FROM \"team\"");
  EXPECT_EQ(server.ask("REVOKE pg_write_all_data FROM team"), "");
  is_kept(condition(place(server), "access"), "no other role");
}

TEST_F(doctor_on_postgresql, finds_objects_of_others) {
  postgresql_server server;
  make_store(server);
  EXPECT_EQ(server.ask("ALTER FUNCTION locks.own_evict OWNER TO worker"), "");
  is(condition(place(server), "owner"), "broken", "the routine own_evict belongs to worker", "OWNER TO");
  is_kept(condition(place(server) + "&owner=worker", "owner"), "trusted");
}

TEST_F(doctor_on_postgresql, finds_connections_that_run_out) {
  postgresql_server server{
      {.lines = {"max_connections = 6", "superuser_reserved_connections = 3", "max_wal_senders = 0"}}};
  const auto one = server.console("holdfast");
  is(condition(server.url(), "connections"), "warning", "3 of 3 connections are in use", "max_connections");
}

}  // namespace
}  // namespace holdfast::test
