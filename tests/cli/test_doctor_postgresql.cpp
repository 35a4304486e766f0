// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor` on real PostgreSQL servers.

#include <algorithm>
#include <chrono>

#include "doctor_fixture.hpp"
#include "support/child_process.hpp"
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

/// Each state begins with statements of the superuser, and ends with others that take it back.
TEST_F(doctor_on_postgresql, says_of_a_store_in_each_state_what_the_golden_file_has) {
  postgresql_server server{{.lines = {"autovacuum_naptime = 1d"}, .durable = true, .own_clock = true}};
  make_store(server, "&grant_lock=worker");
  EXPECT_EQ(server.ask("CREATE ROLE looker LOGIN; CREATE ROLE nobody LOGIN"), "");
  EXPECT_EQ(server.ask("CREATE TABLE public.theirs (name text); ALTER TABLE theirs OWNER TO holdfast"), "");
  EXPECT_EQ(
      server.ask("CREATE DATABASE latin OWNER holdfast ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"), "");
  command({"schema", place(server) + "&grant_lock=worker&grant_look=looker", "--apply"});

  doctor_record said{"postgresql"};
  for (const char* each : {"/holdfast", "/locks", "/latin", ""})
    said.replace("127.0.0.1:" + std::to_string(server.port()) + each, "SERVER");
  said.replace_all("PostgreSQL .*", "PostgreSQL N");
  said.replace_all(R"(clock is (599\d+|60\d+) m?s)", "clock is 10 min");
  const auto own = place(server);
  const auto revision = [](const std::string& number) {
    return "CREATE OR REPLACE FUNCTION locks.own_revision() RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT "
           "''" +
           number + " x''::text'";
  };
  const auto layout = [](const std::string& number) {
    return "CREATE OR REPLACE FUNCTION locks.own_layout() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT " +
           number + "::bigint'";
  };
  const auto setting = [](const std::string& name, const std::string& value) {
    return strings{"ALTER SYSTEM SET " + name + " = " + value, "SELECT pg_reload_conf()"};
  };
  const auto no_setting = [](const std::string& name) {
    return strings{"ALTER SYSTEM RESET " + name, "SELECT pg_reload_conf()"};
  };
  const std::vector<state> states{
      {"all in order", own},
      {"no store yet", server.url()},
      {"no store, and create=0", server.url("?create=0")},
      {"a table that is not Holdfast's", server.url("?table=theirs")},
      {"a password that the server does not ask for", place_of(server, "holdfast:mistyped")},
      {"a database of another encoding",
       "postgresql://holdfast@127.0.0.1:" + std::to_string(server.port()) + "/latin"},
      {"fsync is off", own, setting("fsync", "off"), no_setting("fsync")},
      {"fsync is off, with mode=session", own + "&mode=session", setting("fsync", "off"),
       no_setting("fsync")},
      {"full_page_writes is off", own, setting("full_page_writes", "off"), no_setting("full_page_writes")},
      {"a role whose commits are not durable may lock",
       own,
       {"ALTER ROLE worker SET synchronous_commit = 'NO'"}},
      {"the same, with mode=session", own + "&mode=session"},
      {"the same, as that role", place_of(server, "worker")},
      {"a setting for this database wins over that for all",
       own,
       {"ALTER ROLE worker IN DATABASE holdfast SET synchronous_commit = on"},
       {"ALTER ROLE worker IN DATABASE holdfast RESET synchronous_commit",
        "ALTER ROLE worker RESET synchronous_commit"}},
      {"commits are not durable in the database",
       own,
       {"ALTER DATABASE holdfast SET synchronous_commit = off"}},
      {"the same, but those of this user are",
       own,
       {"ALTER ROLE holdfast SET synchronous_commit = on"},
       {"ALTER DATABASE holdfast RESET synchronous_commit", "ALTER ROLE holdfast RESET synchronous_commit"}},
      {"a user who may only read",
       own,
       {"ALTER ROLE holdfast SET default_transaction_read_only = on"},
       {"ALTER ROLE holdfast RESET default_transaction_read_only"}},
      {"a standby that is not connected",
       own,
       {"SELECT 1 FROM pg_create_physical_replication_slot('second')"},
       {"SELECT FROM pg_drop_replication_slot('second')"}},
      {"commits wait for a standby that is not there", own, setting("synchronous_standby_names", "'absent'")},
      {"commits wait for no standby, in spite of that",
       own,
       setting("synchronous_commit", "local"),
       {"ALTER SYSTEM RESET synchronous_standby_names", "ALTER SYSTEM RESET synchronous_commit",
        "SELECT pg_reload_conf()"}},
      {"a routine is missing", own, {"DROP FUNCTION locks.own_annotate"}},
      {"the same, for a user who may not make it", place_of(server, "worker")},
      {"routines of a newer version, without one of this",
       own,
       {revision("999")},
       {"DROP FUNCTION locks.own_revision"}},
      {"routines of a newer version", own, {revision("999")}, {"DROP FUNCTION locks.own_revision"}},
      {"routines of an older version", own, {revision("0")}, {"DROP FUNCTION locks.own_revision"}},
      {"another layout", own, {layout("1")}, {layout("2")}},
      {"a user without rights", place_of(server, "nobody")},
      {"a user who may look", place_of(server, "looker")},
      {"a user who may lock", place_of(server, "worker")},
      {"a user who may not ask for the version",
       place_of(server, "worker"),
       {"REVOKE EXECUTE ON FUNCTION locks.own_layout() FROM public"},
       {"GRANT EXECUTE ON FUNCTION locks.own_layout() TO public"}},
      {"a role may write a table",
       own,
       {"GRANT UPDATE ON locks.own_claims TO worker"},
       {"REVOKE ALL ON locks.own_claims FROM worker"}},
      {"everybody may read a table",
       own,
       {"GRANT SELECT ON locks.own TO public"},
       {"REVOKE ALL ON locks.own FROM public"}},
      {"a role may make objects in the schema",
       own,
       {"GRANT CREATE ON SCHEMA locks TO worker"},
       {"REVOKE CREATE ON SCHEMA locks FROM worker"}},
      {"everybody may end locks",
       own,
       {"GRANT EXECUTE ON FUNCTION locks.own_evict, locks.own_renew TO public"},
       {"REVOKE EXECUTE ON FUNCTION locks.own_evict, locks.own_renew FROM public"}},
      {"a routine of another role", own, {"ALTER FUNCTION locks.own_evict OWNER TO worker"}},
      {"the same, of one that is trusted",
       own + "&owner=worker",
       {},
       {"ALTER FUNCTION locks.own_evict OWNER TO holdfast"}},
  };
  look_at_each(said, server, states, [&](const std::string& name) {
    if (name.find("version") != std::string::npos)
      command({"schema", own + "&grant_lock=worker&grant_look=looker", "--apply"});
  });
  server.set_clock(10min);
  look(said, "the server's clock is wrong", own);
  server.set_clock(0s);
  server.shut_down();
  server.start_as_standby();
  look(said, "a standby", own);
  said.compare();
}

TEST_F(doctor_on_postgresql, says_of_standbys_what_the_golden_file_has) {
  postgresql_server server{{.durable = true}};
  make_store(server);
  doctor_record said{"postgresql_standbys"};
  for (const char* each : {"/holdfast", "/locks", "/latin", ""})
    said.replace("127.0.0.1:" + std::to_string(server.port()) + each, "SERVER");
  said.replace_all("PostgreSQL .*", "PostgreSQL N");
  look(said, "no standby", place(server));
  EXPECT_EQ(server.ask("COPY (SELECT 'local replication all trust') TO PROGRAM 'cat >>pg_hba.conf'"), "");
  EXPECT_EQ(server.ask("SELECT pg_reload_conf()"), "t");
  // A standby as the server sees it: what receives its log.
  child_process receiver{{postgresql_server::programs() + "/pg_receivewal", "--no-password", "--synchronous",
                          "--directory", scratch_.path().string(), "--host", server.socket_folder(), "--port",
                          std::to_string(server.port()), "--username", "postgres"},
                         {.output = file("copy.log")}};
  ASSERT_TRUE(eventually([&] { return server.number("SELECT count(*) FROM pg_stat_replication") == 1; }));
  look(said, "one that is not synchronous", place(server));
  EXPECT_EQ(server.ask("REVOKE pg_read_all_stats FROM holdfast"), "");
  look(said, "the same, for a user who may not see it", place(server));
  set(server, "synchronous_standby_names = 'absent'");
  look(said, "commits wait for one of another name, which this user may not see", place(server));
  set(server, "synchronous_standby_names = ''");
  ASSERT_TRUE(eventually([&] { return server.console()->ask("SHOW synchronous_standby_names").empty(); }));
  EXPECT_EQ(server.ask("GRANT pg_read_all_stats TO holdfast"), "");
  set(server, "synchronous_standby_names = 'FIRST 1 (pg_receivewal, b)'");
  ASSERT_TRUE(eventually([&] {
    return server.number("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1;
  }));
  look(said, "one that is synchronous", place(server));
  set(server, "synchronous_standby_names = 'ANY 2 (*)'");
  look(said, "commits wait for one more", place(server));
  said.compare();
}

TEST_F(doctor_on_postgresql, finds_a_server_in_order) {
  // The next transaction that writes has this number, whatever the statistics know yet.
  const std::string next_writer = "SELECT pg_snapshot_xmax(pg_current_snapshot())";
  postgresql_server server{{.lines = {"autovacuum_naptime = 1d"}, .durable = true}};
  make_store(server);
  const auto before = server.ask(next_writer);
  const auto run = holdfast({"doctor", "--store", place(server), "--all"});
  EXPECT_EQ(run.status, status_in_order()) << run.out << run.err;
  EXPECT_THAT(of_store(run.out),
              AllOf(HasSubstr("/holdfast: all 8 checks passed"),
                    HasSubstr("kept     persistence: fsync is on, synchronous_commit is on"),
                    HasSubstr("kept     rights: the user holdfast may call all"),
                    HasSubstr("kept     schema: locks.own fits this version"), Not(HasSubstr("mend:"))));
  EXPECT_EQ(server.ask(next_writer), before) << "it writes nothing";
}

TEST_F(doctor_on_postgresql, tells_a_store_that_is_away_as_other_commands_do) {
  expect_out_of_reach("postgresql://127.0.0.1:1/holdfast");
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
  is_kept(condition(store, "schema"), "locks.own fits this version");
}

}  // namespace
}  // namespace holdfast::test
