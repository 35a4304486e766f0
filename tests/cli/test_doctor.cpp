// `holdfast doctor` on real servers: each test breaks one condition, and sees it named.

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/serve/fixture.hpp"
#include "doctor_fixture.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/small_disk.hpp"

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
  EXPECT_EQ(run.status, status_in_order()) << run.out << run.err;
  EXPECT_THAT(of_store(run.out),
              AllOf(HasSubstr("127.0.0.1:" + std::to_string(server.port()) + ": all 15 checks passed"),
                    HasSubstr("kept     eviction: maxmemory is not set"),
                    HasSubstr("kept     rights: the user default has all"), Not(HasSubstr("mend:"))));
  EXPECT_THAT(run.out, AllOf(HasSubstr("this host: "), HasSubstr(" vm clock: ")));
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

TEST_F(doctor, finds_a_longer_guard_that_another_client_has_asked_for) {
  redis_server server;
  server.forget_start();
  EXPECT_EQ(
      holdfast({"run", "trial", "--store", server.guarded_url("?failover_guard=25h"), "--", "true"}).status,
      0);
  is(condition(server.guarded_url(), "longest guard", 1), "warning", "failover_guard of 90000 s",
     "redis-cli DEL ");
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

TEST_F(doctor, finds_an_append_only_file_that_cannot_be_written) {
  // Its data are on a disk of one MiB, which this server alone sees.
  const auto disk = file("disk");
  std::filesystem::create_directory(disk);
  write_file(
      file("on_disk"),
      "#!/bin/sh\nexec unshare --map-root-user --mount sh -c 'mount -t tmpfs -o size=1m none \"$0\" && "
      "exec \"$@\"' '" +
          disk + "' '" + redis_server::usual_program() + "' \"$@\"\n");
  std::filesystem::permissions(file("on_disk"), std::filesystem::perms::owner_all);
  if (process{scratch_, {file("on_disk"), "--version"}, {}}.wait().status != 0)
    GTEST_SKIP() << "a mount namespace is not permitted here";
  redis_server server{
      {.program = file("on_disk"), .lines = {"dir " + disk, "appendonly yes", "appendfsync everysec"}}};
  server.forget_start();
  is_kept(condition(server.guarded_url(), "disk", 0));
  fill_small_disk(server.pid(), disk);
  server.ask({"SET", "theirs", std::string(10'000, 'x')});
  ASSERT_TRUE(eventually([&] { return server.info_text("aof_last_write_status") == "err"; }));
  is(condition(server.guarded_url(), "disk", 2), "broken",
     "the last write to the append-only file has failed");
  clear_small_disk(server.pid(), disk);
  ASSERT_TRUE(eventually([&] { return server.info_text("aof_last_write_status") == "ok"; }));
  is_kept(condition(server.guarded_url(), "disk", 0));
}

TEST_F(doctor, finds_a_server_that_is_far_away) {
  redis_server server;
  server.forget_start();
  fault_proxy far{server.port()};
  far.interfere(direction::to_client, {.delay = std::chrono::milliseconds{100}});
  is(condition("redis://127.0.0.1:" + std::to_string(far.port()), "latency", 1), "warning",
     "a script takes 1", "redis-cli --latency");
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

TEST_F(doctor, finds_a_virtual_machine_whose_clock_stands_still_with_it) {
  redis_server server;
  server.forget_start();
  write_file(file("source"), "kvm-clock\n");
  write_file(file("processor"), "flags\t\t: fpu tsc hypervisor lahf_lm\n");
  const std::string as_there =
      "mount --bind \"$0\" /sys/devices/system/clocksource/clocksource0/current_clocksource && "
      "mount --bind \"$1\" /proc/cpuinfo && shift && exec \"$@\"";
  const auto run_there = [&](const strings& command) {
    strings all{"unshare", "--map-root-user", "--mount",      "sh",
                "-c",      as_there,          file("source"), file("processor")};
    all.insert(all.end(), command.begin(), command.end());
    return process{scratch_, all, {environment()}}.wait();
  };
  if (run_there({"true"}).status != 0) GTEST_SKIP() << "a mount namespace is not permitted here";
  const auto run = run_there({HOLDFAST_COMMAND, "doctor", "--json", "--store", server.guarded_url()});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto found = parse_lines(run.out).at(0)["findings"].back();
  EXPECT_EQ(found["subject"], "this host");
  EXPECT_EQ(found["condition"], "vm clock");
  is(found, "warning", "the clock source is kvm-clock", "clocksource=tsc");
}

TEST_F(doctor, finds_a_password_that_the_server_does_not_ask_for) {
  redis_server open;
  open.forget_start();
  const auto url = "redis://:mistyped@127.0.0.1:" + std::to_string(open.port());
  is(condition(url, "password", 1), "warning", "the server asks for none", "CONFIG SET requirepass");
  open.ask({"ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all"});
  for (const auto& each : findings("redis://locks:secret@127.0.0.1:" + std::to_string(open.port()), {}))
    EXPECT_NE(each["condition"], "password") << "that user has one";
  redis_server::settings options;
  options.password = "secret";
  redis_server closed{options};
  closed.forget_start();
  for (const auto& each : findings(closed.guarded_url(), 0)) EXPECT_NE(each["condition"], "password");
}

TEST_F(doctor, finds_a_key_that_every_user_may_read) {
  redis_server::settings options;
  options.tls = true;
  redis_server server{options};
  server.forget_start();
  const auto own = server.client_pair();
  const auto url = fmt::format("rediss://localhost:{}?ca={}&cert={}&key={}", server.tls_port(),
                               server.authority().authority(), own.certificate, own.key);
  is_kept(condition(url, "key", 0), "not everybody may read the key ");
  std::filesystem::permissions(own.key, std::filesystem::perms{0644});
  is(condition(url, "key", 1), "warning", "every user of this host may read the key ", "chmod o= ");
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
  is(condition(user("h", {"-scan"}), "fences", 2), "unknown", "its keys cannot be looked at: NOPERM",
     "+scan");
}

TEST_F(doctor, ends_no_connection_of_others_whatever_the_version) {
  redis_server server;
  server.forget_start();
  const auto watch = server.console();
  watch->ask({"CLIENT", "SETNAME", "another"});
  server.ask({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(holdfast({"doctor", "--store", server.guarded_url()}).status, status_in_order());
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

/// No server is that old here that lets a client in. So the answer of a newer one is changed on the way.
TEST_F(doctor, finds_an_old_version) {
  redis_server server;
  server.forget_start();
  is_kept(condition(server.guarded_url(), "version", 0), server.info_text("redis_version"));
  fault_proxy old{server.port()};
  old.forge([&](std::string_view, std::string_view answer) {
    std::string changed{answer};
    const std::string field = "redis_version:";
    if (const auto at = changed.find(field); at != std::string::npos) {
      const auto begin = at + field.size();
      const auto length = changed.find('\r', begin) - begin;
      changed.replace(begin, length, "6.0." + std::string(length - 4, '1'));
    }
    return changed;
  });
  is(condition("redis://127.0.0.1:" + std::to_string(old.port()), "version", 1), "warning", "6.0.1",
     "Redis 6.2 or newer");
}

TEST_F(doctor, finds_connections_that_run_out) {
  redis_server server;
  server.forget_start();
  server.ask({"CONFIG", "SET", "maxclients", "2"});
  is(condition(server.guarded_url(), "connections", 1), "warning", "of 2 connections are in use");
}

std::string side_key(const std::string& name, const std::string& word) {
  return "{holdfast:" + name + "}\x1f" + word;
}

TEST_F(doctor, finds_fences_without_an_end_and_the_command_that_gives_them_one) {
  redis_server server;
  server.forget_start();
  const auto url = server.guarded_url();
  is_kept(condition(url, "fences", 0), "there are none");
  ASSERT_EQ(holdfast({"run", "it's", "--store", url, "--", "true"}).status, 0);
  is_kept(condition(url, "fences", 0), "fences, each with an end: 1");
  server.ask({"PERSIST", side_key("it's", "fence")});
  const auto found = condition(url, "fences", 1);
  is(found, "warning", "fences without an end: 1 of 1, that of 'it's' for one",
     "holdfast run 'it'\\''s' -- true");
  server.forget_start("other:");
  is_kept(condition(server.guarded_url("?prefix=other:"), "fences", 0), "there are none");
  ASSERT_EQ(holdfast({"run", "it's", "--store", url, "--", "true"}).status, 0);
  is_kept(condition(url, "fences", 0));
  server.ask({"SET", side_key("-x", "fence"), "1"});
  is(condition(url, "fences", 1), "warning", "that of '-x' for one",
     "the next grant of that name gives it an end");
}

TEST_F(doctor, finds_holders_that_keep_tokens_for_a_shorter_time) {
  redis_server server;
  server.forget_start();
  const auto brief = server.guarded_url("?keep_idle=1s");
  const auto check = [&](const std::string& url, int status) {
    const auto run =
        holdfast({"run", "x", "--store", brief, "--", HOLDFAST_COMMAND, "doctor", "--json", "--store", url});
    EXPECT_EQ(run.status, std::max(status, status_in_order())) << run.out << run.err;
    json found;
    for (const json& line : parse_lines(run.out))
      for (const json& each : line["findings"])
        if (each["condition"] == "fences") found = each;
    return found;
  };
  is(check(server.guarded_url(), 1), "warning", "the fence of 'x', which is held, ends in ",
     "the same keep_idle");
  is_kept(check(brief, 0));
  is_kept(condition(server.guarded_url(), "fences", 0), "fences, each with an end: 1");
}

TEST_F(doctor, finds_keys_of_other_layouts) {
  redis_server server;
  server.forget_start();
  const auto url = server.guarded_url();
  ASSERT_EQ(holdfast({"run", "x", "--store", url, "--", "true"}).status, 0);
  is_kept(condition(url, "layout", 0), "the side keys are of this version's layout");
  server.ask({"ZADD", side_key("x", "queue"), "1", "a"});
  server.ask({"PEXPIRE", side_key("x", "queue"), "3600000"});
  is(condition(url, "layout", 1), "warning", "keys of Holdfast 0.1 that are left: 1", "end by themselves");
  server.ask({"HSET", side_key("x", "claims"), "a", "b"});
  is(condition(url, "layout", 1), "warning", "keys of Holdfast 0.1 that are left: 2",
     "redis-cli DEL \"$(printf '%s\\037%s' '{holdfast:x}' claims)\"");
  server.ask({"DEL", side_key("x", "queue"), side_key("x", "claims")});
  server.ask({"SET", side_key("x", "votes"), "1"});
  is(condition(url, "layout", 1), "warning", "keys below the prefix of no layout that this version knows: 1",
     "redis-cli TYPE ");
}

TEST_F(doctor, looks_at_the_first_keys_of_many) {
  redis_server server;
  server.forget_start();
  const auto fill =
      "for i = 1, ARGV[1] do redis.call('SET', ARGV[2] .. i .. ARGV[3], '0', 'PX', 3600000) end";
  server.ask({"EVAL", fill, "0", "100000", "theirs:", ""});
  is_kept(condition(server.guarded_url(), "fences", 0), "there are none among the first keys");
  server.ask({"FLUSHDB"});
  server.forget_start();
  server.ask({"EVAL", fill, "0", "3000", "{holdfast:",
              "}\x1f"
              "fence"});
  is_kept(condition(server.guarded_url(), "fences", 0),
          "fences among the first keys, each with an end: 1000");
}

TEST_F(doctor, prints_no_foreign_escapes_and_no_password) {
  redis_server::settings options;
  options.password = "geheim";
  redis_server server{options};
  server.forget_start();
  const auto run = holdfast({"doctor", "--store", server.guarded_url(), "--all"});
  EXPECT_EQ(run.status, status_in_order()) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("geheim")));
  const auto refused =
      holdfast({"doctor", "--store", "redis://:falsch@127.0.0.1:" + std::to_string(server.port())});
  EXPECT_EQ(refused.status, 77) << refused.err;
  EXPECT_THAT(refused.err, Not(HasSubstr("falsch")));
}

class serve_doctor : public serve_test {};

TEST_F(serve_doctor, judges_the_guards_by_the_longest_ttl) {
  redis_server server;
  server.forget_start();
  const auto url = server.guarded_url("?failover_guard=20s");
  const auto guard = [&](const strings& options) {
    strings all{"--store", url};
    all.insert(all.end(), options.begin(), options.end());
    serve(all);
    const auto report = get_json("/api/doctor");
    EXPECT_FALSE(report["findings"].empty());
    for (const auto& each : report["findings"]) {
      if (each["condition"] == "guard") return each["result"].get<std::string>();
    }
    return std::string{};
  };
  EXPECT_EQ(guard({}), "broken") << "for a ttl of 30 s";
  EXPECT_EQ(guard({"--ttl", "20s"}), "") << "no complaint";
  EXPECT_EQ(holdfast({"serve", "--ttl", "1ms"}).status, 64);
}

}  // namespace
}  // namespace holdfast::test
