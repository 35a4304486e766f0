// `holdfast doctor` on real servers: each test breaks one condition, and sees it named.

#include <chrono>
#include <filesystem>
#include <gmock/gmock.h>

#include "doctor_fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class doctor : public doctor_test {};

TEST_F(doctor, finds_a_server_in_order) {
  redis_server server;
  server.forget_start();
  const auto run = holdfast({"doctor", "--store", server.guarded_url(), "--all"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("127.0.0.1:" + std::to_string(server.port()) + ": 12 of 12"),
                    HasSubstr("kept     eviction: maxmemory is not set"),
                    HasSubstr("kept     rights: the user default has all"), Not(HasSubstr("mend:"))));
  EXPECT_EQ(server.ask({"DBSIZE"}), "1") << "it leaves nothing behind; the guard's marker was there";
}

TEST_F(doctor, tells_a_store_that_is_away_as_other_commands_do) {
  expect_out_of_reach("redis://127.0.0.1:1");
}

TEST_F(doctor, finds_a_restart_that_forgets) {
  redis_server server;
  server.forget_start();
  is(condition(server.url(), "persistence", 2), "broken", "appendonly is no, and the guard is off");
  EXPECT_EQ(condition(server.guarded_url(), "persistence", 0)["result"], "kept");
  server.ask({"CONFIG", "SET", "appendonly", "yes"});
  is(condition(server.url(), "persistence", 2), "broken", "appendfsync is everysec");
  server.ask({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_EQ(condition(server.url(), "persistence", 0)["result"], "kept");
}

TEST_F(doctor, finds_a_server_that_grants_nothing_yet) {
  redis_server server;
  is(condition(server.guarded_url(), "pause", 1), "warning", "grants nothing new for ", "wait for ");
  EXPECT_EQ(holdfast({"run", "x", "--wait", "0", "--store", server.guarded_url(), "--", "true"}).status, 69);
  is(condition(server.guarded_url(), "pause", 1), "warning", "grants nothing new for ", "wait for ");
  server.forget_start();
  is_kept(condition(server.guarded_url(), "pause", 0), "it grants");
}

TEST_F(doctor, finds_a_guard_that_is_too_short) {
  redis_server server;
  server.forget_start();
  const auto url = server.guarded_url("?failover_guard=20s");
  is(condition(url, "guard", 2), "broken", "failover_guard is 20 s, and the ttl with its grace is 30 s");
  EXPECT_EQ(condition(url, "persistence", 0, {"--ttl", "20s"})["result"], "kept");
}

TEST_F(doctor, finds_eviction_and_a_full_memory) {
  redis_server server;
  server.forget_start();
  server.ask({"CONFIG", "SET", "maxmemory", "100mb"});
  EXPECT_EQ(condition(server.guarded_url(), "eviction", 0)["result"], "kept");
  server.ask({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  is(condition(server.guarded_url(), "eviction", 2), "broken", "maxmemory-policy is volatile-lru");
  server.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  is(condition(server.guarded_url(), "memory", 1), "warning", "% of maxmemory are in use");
}

TEST_F(doctor, finds_a_disk_that_cannot_be_written) {
  redis_server server;
  server.forget_start();
  server.ask({"CONFIG", "SET", "dbfilename", "dump.rdb"});
  ASSERT_EQ(std::filesystem::create_directory(server.file("dump.rdb")), true);
  server.ask({"CONFIG", "SET", "save", "3600 1"});
  server.ask({"BGSAVE"});
  ASSERT_TRUE(eventually([&] { return server.info_text("rdb_last_bgsave_status") == "err"; }));
  is(condition(server.guarded_url(), "disk", 2), "broken", "the last snapshot has failed");
  server.ask({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"});
  is(condition(server.guarded_url(), "disk", 1), "warning", "the last snapshot has failed");
  server.ask({"CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"});
  server.ask({"CONFIG", "SET", "save", ""});
  is(condition(server.guarded_url(), "disk", 1), "warning", "the last snapshot has failed");
}

TEST_F(doctor, finds_a_replica_and_a_former_primary_that_goes_on) {
  redis_server primary;
  primary.forget_start();
  redis_server replica;
  replica.ask({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
  ASSERT_TRUE(eventually([&] { return primary.info("connected_slaves") == 1; }));
  is(condition(replica.guarded_url(), "role", 2), "broken", "it is a replica of 127.0.0.1");
  is(condition(primary.guarded_url(), "replicas", 1), "warning",
     "min-replicas-to-write or min-replicas-max-lag is 0");
  primary.ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
  is(condition(primary.guarded_url(), "replicas", 1), "warning", "min-replicas-max-lag is 10 s");
  EXPECT_EQ(condition(primary.guarded_url("?failover_guard=42s"), "replicas", 0)["result"], "kept");
  primary.ask({"CONFIG", "SET", "min-replicas-max-lag", "0"});
  is(condition(primary.guarded_url("?failover_guard=42s"), "replicas", 1), "warning",
     "min-replicas-max-lag is 0");
  is(condition(primary.url(), "replicas", 2), "broken", "the guard is off");
}

TEST_F(doctor, finds_a_clock_that_is_wrong) {
  redis_server::settings options;
  options.own_clock = true;
  redis_server server{options};
  server.forget_start();
  server.set_clock(std::chrono::hours{1});
  is(condition(server.guarded_url(), "clock", 1), "warning", "ahead of this host's");
}

TEST_F(doctor, finds_rights_that_are_missing) {
  redis_server server;
  server.forget_start();
  const auto user = [&](const std::string& name, const strings& changes) {
    strings all{"ACL", "SETUSER", name, "on", ">secret", "~*", "&*", "+@all"};
    all.insert(all.end(), changes.begin(), changes.end());
    server.ask(all);
    return "redis://" + name + ":secret@127.0.0.1:" + std::to_string(server.port());
  };
  is(condition(user("a", {"-zadd", "-publish"}), "rights", 2), "broken", "the user a lacks +publish +zadd");
  is(condition(user("b", {"-client|kill"}), "rights", 1), "warning", "the user b lacks +client|kill");
  is(condition(user("c", {"-info"}), "information", 2), "unknown", "INFO is answered with NOPERM");
  is(condition(user("d", {"-config"}) + "?failover_guard=0", "persistence", 2), "broken", "appendonly is no");
  is(condition(user("e", {"resetchannels"}), "rights", 2), "broken", "the user e lacks &holdfast:client:*");
  is(condition(user("f", {"resetkeys", "~other:*"}), "rights", 2), "broken",
     "the user f lacks ~holdfast:* ~{holdfast:* ~{*}holdfast:*");
  is(condition(user("g", {"-eval", "-time"}), "latency", 2), "unknown", "how long a script takes");
}

TEST_F(doctor, ends_no_connection_of_others_whatever_the_version) {
  redis_server server;
  server.forget_start();
  const auto watch = server.console();
  watch->ask({"CLIENT", "SETNAME", "another"});
  server.ask({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(holdfast({"doctor", "--store", server.guarded_url()}).status, 0);
  const auto kills = server.ask({"INFO", "commandstats"});
  EXPECT_THAT(kills, HasSubstr("cmdstat_client|kill:calls=1"));
  EXPECT_THAT(server.ask({"CLIENT", "LIST"}), HasSubstr("name=another"));
}

TEST_F(doctor, finds_a_server_that_serves_nobody) {
  redis_server server;
  server.forget_start();
  const auto busy = server.console();
  server.ask({"CONFIG", "SET", "busy-reply-threshold", "50"});
  busy->tell({"EVAL", "while true do end", "0"});
  const auto url = server.guarded_url();
  ASSERT_TRUE(eventually([&] { return server.ask({"PING"}).find("BUSY") != std::string::npos; }));
  is(condition(url, "answer", 2), "broken", "it serves nobody now: BUSY");
  is(condition(url, "rights", 2), "unknown", "which rights this user has");
  server.ask({"SCRIPT", "KILL"});
}

TEST_F(doctor, finds_connections_that_run_out) {
  redis_server server;
  server.forget_start();
  server.ask({"CONFIG", "SET", "maxclients", "2"});
  is(condition(server.guarded_url(), "connections", 1), "warning", "of 2 connections are in use");
}

TEST_F(doctor, prints_no_foreign_escapes_and_no_password) {
  redis_server::settings options;
  options.password = "geheim";
  redis_server server{options};
  server.forget_start();
  const auto run = holdfast({"doctor", "--store", server.guarded_url(), "--all"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("geheim")));
  const auto refused =
      holdfast({"doctor", "--store", "redis://:falsch@127.0.0.1:" + std::to_string(server.port())});
  EXPECT_EQ(refused.status, 77) << refused.err;
  EXPECT_THAT(refused.err, Not(HasSubstr("falsch")));
}

}  // namespace
}  // namespace holdfast::test
