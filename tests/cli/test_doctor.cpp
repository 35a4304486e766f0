// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor` on real servers: each test breaks one condition, and sees it named.

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/serve/fixture.hpp"
#include "doctor_fixture.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class doctor : public doctor_test {};

TEST_F(doctor, says_of_a_server_in_each_state_what_the_golden_file_has) {
  redis_server server{{.own_clock = true}};
  redis_server replica;
  const auto url = server.guarded_url();
  doctor_record said{"redis"};
  said.replace("127.0.0.1:" + std::to_string(server.port()), "SERVER");
  said.replace("127.0.0.1:" + std::to_string(replica.port()), "REPLICA");
  said.replace_all("version of (SERVER|REPLICA): kept: .*", "version of $1: kept: 7");
  said.replace_all(R"(for (2\d|30) s\b)", "for N s");
  said.replace_all(R"(clock is (360|359)\d+ (m?s))", "clock is 1 h");

  server.forget_start();
  look(said, "all in order", url);
  look(said, "the guard is off", url + "?failover_guard=0");
  look(said, "a shorter guard than the ttl", url + "?failover_guard=20s");
  look(said, "the same, with a shorter ttl", url + "?failover_guard=20s", {"--ttl", "20s"});
  server.ask({"CONFIG", "SET", "appendonly", "yes"});
  look(said, "appendonly without a guard", url + "?failover_guard=0");
  look(said, "appendonly with a guard", url);
  server.ask({"CONFIG", "SET", "appendfsync", "always"});
  look(said, "appendfsync always without a guard", url + "?failover_guard=0");
  server.ask({"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"});
  look(said, "the same, but for while it rewrites the file", url + "?failover_guard=0");
  server.ask({"CONFIG", "SET", "appendonly", "no"});

  server.ask({"CONFIG", "SET", "maxmemory", "100mb"});
  look(said, "memory is limited", url);
  server.ask({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  look(said, "keys may be evicted", url);
  server.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server.ask({"CONFIG", "SET", "maxmemory", "0"});

  look(said, "a password that the server does not ask for",
       "redis://:mistyped@127.0.0.1:" + std::to_string(server.port()));
  server.set_clock(1h);
  server.forget_start();
  look(said, "the server's clock is wrong", url);
  server.set_clock(0h);
  server.forget_start();

  server.ask({"CONFIG", "SET", "client-output-buffer-limit", "pubsub 65536 65536 60"});
  look(said, "a low limit of answers", url);
  server.ask({"CONFIG", "SET", "client-output-buffer-limit", "pubsub 33554432 8388608 60"});
  server.ask({"CONFIG", "SET", "protected-mode", "no"});
  look(said, "everybody is let in", url);
  server.ask({"CONFIG", "SET", "protected-mode", "yes"});

  replica.ask({"REPLICAOF", "127.0.0.1", std::to_string(server.port())});
  ASSERT_TRUE(eventually([&] { return server.info("connected_slaves") == 1; }));
  server.forget_start();
  look(said, "the URL names the replica", replica.guarded_url());
  look(said, "a replica, and nothing that stops a former primary", url);
  look(said, "a replica without a guard", server.url());
  server.ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
  look(said, "a guard that is shorter than ttl and lag", url);
  look(said, "a guard that is long enough", url + "?failover_guard=42s");
  server.ask({"CONFIG", "SET", "min-replicas-max-lag", "0"});
  look(said, "no lag", url + "?failover_guard=42s");
  replica.ask({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(eventually([&] { return server.info("connected_slaves") == 0; }));

  server.forget_start();
  EXPECT_EQ(holdfast({"run", "trial", "--store", url + "?failover_guard=25h", "--", "true"}).status, 0);
  look(said, "another client has asked for a longer guard", url);
  server.kill();
  server.start_empty();
  look(said, "it has just started", url);
  said.compare();
}

TEST_F(doctor, says_to_users_of_few_rights_what_the_golden_file_has) {
  redis_server server;
  server.forget_start();
  doctor_record said{"redis_user"};
  said.replace("127.0.0.1:" + std::to_string(server.port()), "SERVER");
  said.replace_all("version of SERVER: kept: .*", "version of SERVER: kept: 7");
  said.replace_all(R"(for \d+ s)", "for N s");
  const auto as = [&](const std::string& user, const strings& changes, const std::string& rest = {}) {
    strings all{"ACL", "SETUSER", user, "on", ">secret", "~*", "&*", "+@all"};
    all.insert(all.end(), changes.begin(), changes.end());
    server.ask(all);
    look(said, user, "redis://" + user + ":secret@127.0.0.1:" + std::to_string(server.port()) + rest);
  };
  as("all", {});
  as("no-zadd", {"-zadd", "-publish"});
  as("no-kill", {"-client|kill"});
  as("no-info", {"-info"});
  as("no-config", {"-config"});
  as("no-config-no-guard", {"-config"}, "?failover_guard=0");
  server.ask({"CONFIG", "SET", "appendonly", "yes"});
  as("no-config-but-appendonly", {"-config"}, "?failover_guard=0");
  server.ask({"CONFIG", "SET", "appendonly", "no"});
  as("no-channels", {"resetchannels"});
  as("no-keys", {"resetkeys", "~other:*"});
  as("no-scripts-no-time", {"-eval", "-time"});
  said.compare();
}

TEST_F(doctor, finds_a_server_in_order) {
  redis_server server;
  server.forget_start();
  const auto run = holdfast({"doctor", "--store", server.guarded_url(), "--all"});
  EXPECT_EQ(run.status, status_in_order()) << run.out << run.err;
  EXPECT_THAT(of_store(run.out),
              AllOf(HasSubstr("127.0.0.1:" + std::to_string(server.port()) + ": all 9 checks passed"),
                    HasSubstr("kept     eviction: maxmemory is not set"),
                    HasSubstr("kept     rights: the user default has all"), Not(HasSubstr("mend:"))));
  EXPECT_THAT(run.out, AllOf(HasSubstr("this host: "), HasSubstr(" vm clock: ")));
  EXPECT_EQ(server.ask({"DBSIZE"}), "1") << "it leaves nothing behind; the guard's marker was there";
}

TEST_F(doctor, tells_a_store_that_is_away_as_other_commands_do) {
  expect_out_of_reach("redis://127.0.0.1:1");
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

TEST_F(doctor, ends_no_connection_of_others_whatever_the_version) {
  redis_server server;
  server.forget_start();
  const auto watch = server.console();
  watch->ask({"CLIENT", "SETNAME", "another"});
  server.ask({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(holdfast({"doctor", "--store", server.guarded_url()}).status, status_in_order());
  EXPECT_EQ(server.calls("client|kill"), 1);
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
