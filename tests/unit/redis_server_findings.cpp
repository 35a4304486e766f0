// What `holdfast doctor` concludes from what a Redis server says of itself, where no test can make a real one
// say it.

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "stores/redis/protocol/server_facts.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using grade = finding::grade;
using testing::AllOf;
using testing::HasSubstr;

/// A server in order, on another host, with a password.
server_facts facts() {
  server_facts one;
  one.place = "db-1:6379";
  one.user = "locks";
  one.info = {{"redis_version", "7.0.15"},
              {"role", "master"},
              {"maxmemory_policy", "noeviction"},
              {"maxmemory", "0"},
              {"maxclients", "10000"},
              {"connected_clients", "3"},
              {"aof_last_write_status", "ok"},
              {"rdb_last_bgsave_status", "ok"}};
  one.settings = {
      {"appendfsync", "everysec"}, {"bind", "10.0.0.1"}, {"protected-mode", "no"}, {"port", "6379"}};
  one.is_open = false;
  one.clock_ahead = 0us;
  one.script_time = 100us;
  return one;
}

finding condition(const server_facts& of, const std::string& name, const dialect& in = {}) {
  const auto all = findings_of(of, in, 30s);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const finding& f) { return f.condition == name; });
  return found == all.end() ? finding{} : *found;
}

TEST(redis_server_findings, warn_of_a_limit_that_answers_to_subscribers_exceed) {
  const auto result_for = [](const char* limits) {
    auto one = facts();
    one.settings["client-output-buffer-limit"] = limits;
    return condition(one, "answers").result;
  };
  EXPECT_EQ(result_for("normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"), grade::kept);
  EXPECT_EQ(result_for("normal 1 1 1 slave 1 1 1 pubsub 0 0 0"), grade::kept);
  EXPECT_EQ(result_for("normal 0 0 0 slave 0 0 0 pubsub 1048576 0 0"), grade::warning);
  EXPECT_EQ(result_for("normal 0 0 0 slave 0 0 0 pubsub 33554432 65536 60"), grade::warning);
}

TEST(redis_server_findings, are_all_kept_of_a_server_in_order) {
  for (const finding& each : findings_of(facts(), {}, 30s))
    EXPECT_EQ(each.result, grade::kept) << each.condition;
}

TEST(redis_server_findings, tell_of_a_server_that_is_open_to_other_hosts) {
  server_facts open = facts();
  open.is_open = true;
  EXPECT_EQ(condition(open, "access").result, grade::warning);
  open.is_local = true;
  EXPECT_EQ(condition(open, "access").result, grade::warning) << "it listens on more than the loopback";
  open.settings["bind"] = "127.0.0.1 -::1";
  EXPECT_EQ(condition(open, "access").result, grade::kept);
  open.settings["bind"] = "127.0.0.1 0.0.0.0";
  EXPECT_EQ(condition(open, "access").result, grade::warning);
  open.settings["protected-mode"] = "yes";
  EXPECT_EQ(condition(open, "access").result, grade::kept);
  open.settings.clear();
  EXPECT_EQ(condition(open, "access").result, grade::unknown);
  open.is_open.reset();
  EXPECT_EQ(condition(open, "access").result, grade::unknown);
}

TEST(redis_server_findings, warn_of_a_password_that_nobody_asks_for) {
  server_facts open = facts();
  open.gives_password = true;
  EXPECT_EQ(condition(open, "password").condition, "") << "it is asked for";
  open.is_open = true;
  EXPECT_EQ(condition(open, "password").result, grade::warning);
  open.gives_password = false;
  EXPECT_EQ(condition(open, "password").condition, "");
}

TEST(redis_server_findings, tell_of_writes_that_go_without_the_disk_while_the_file_is_written_anew) {
  server_facts kept = facts();
  kept.info["aof_enabled"] = "1";
  kept.settings.insert({{"appendonly", "yes"}, {"no-appendfsync-on-rewrite", "no"}});
  kept.settings["appendfsync"] = "always";
  dialect unguarded;
  unguarded.guard = 0ms;
  EXPECT_EQ(condition(kept, "persistence", unguarded).result, grade::kept);
  kept.settings["no-appendfsync-on-rewrite"] = "yes";
  const finding found = condition(kept, "persistence", unguarded);
  EXPECT_EQ(found.result, grade::broken);
  EXPECT_NE(found.observed.find("no-appendfsync-on-rewrite is yes"), std::string::npos) << found.observed;
  EXPECT_NE(found.remedy.find("CONFIG SET no-appendfsync-on-rewrite no; CONFIG REWRITE"), std::string::npos)
      << found.remedy;
  EXPECT_EQ(condition(kept, "persistence").result, grade::kept) << "the guard is on";
}

TEST(redis_server_findings, take_no_silence_for_good_news) {
  server_facts mute;
  mute.info_error = "LOADING the dataset";
  mute.obstacle = "LOADING the dataset";
  for (const char* name : {"information", "clock", "latency", "access", "rights"})
    EXPECT_EQ(condition(mute, name).result, grade::unknown) << name;
  EXPECT_EQ(condition(mute, "answer").result, grade::broken);
  server_facts short_of = facts();
  short_of.info.erase("role");
  short_of.info.erase("maxmemory_policy");
  EXPECT_EQ(condition(short_of, "role").result, grade::unknown);
  EXPECT_EQ(condition(short_of, "eviction").result, grade::unknown);
}

TEST(redis_server_findings, count_what_may_be_promoted_and_not_only_what_is_connected) {
  server_facts cut_off = facts();
  cut_off.has_failover = true;
  cut_off.settings["min-replicas-to-write"] = "1";
  cut_off.settings["min-replicas-max-lag"] = "10";
  EXPECT_EQ(condition(cut_off, "replicas").result, grade::warning);
  dialect longer;
  longer.guard = 42s;
  EXPECT_EQ(condition(cut_off, "replicas", longer).result, grade::kept);
  cut_off.settings["min-replicas-max-lag"] = "0";
  EXPECT_EQ(condition(cut_off, "replicas", longer).result, grade::warning) << "that turns it off";
  cut_off.info["cluster_enabled"] = "1";
  cut_off.settings["cluster-node-timeout"] = "10000";
  EXPECT_EQ(condition(cut_off, "replicas", longer).result, grade::kept) << "a cluster's time is another";
  cut_off.settings["cluster-node-timeout"] = "10001";
  EXPECT_EQ(condition(cut_off, "replicas", longer).result, grade::warning);
}

TEST(redis_server_findings, name_the_keys_of_a_prefix_as_redis_cli_reads_them) {
  server_facts blind = facts();
  blind.denials.push_back({{{"GET", "x"}, "+get", ""}, "NOPERM no permissions to access a key"});
  EXPECT_EQ(condition(blind, "rights").remedy, "ACL SETUSER locks ~holdfast:* ~{holdfast:* ~{*}holdfast:*");
  dialect other;
  other.prefix = "a b*\\";
  EXPECT_EQ(condition(blind, "rights", other).remedy,
            R"(ACL SETUSER locks ~a?b\*\\* ~{a?b\*\\* ~{*}a?b\*\\*)");
  other.prefix = R"(it's "a")";
  EXPECT_EQ(condition(blind, "rights", other).remedy,
            R"(ACL SETUSER locks "~it's?\"a\"*" "~{it's?\"a\"*" "~{*}it's?\"a\"*")");
  for (const right& each : needed_rights(other, "probe", false)) {
    if (each.grant.starts_with("\"~") || each.grant.starts_with("~")) {
      EXPECT_EQ(each.grant, R"("~{*}it's?\"a\"*")");
    }
  }
}

TEST(redis_server_findings, tell_how_long_nothing_is_granted) {
  server_facts young = facts();
  young.has_guard = true;
  young.info["uptime_in_seconds"] = "10";
  young.info["master_replid"] = "ab";
  EXPECT_EQ(pause_left(young, 30s, 1000s), 20s);
  young.guard_marker = "ab cd 30000/0/0 0 none";
  EXPECT_EQ(pause_left(young, 30s, 1000s), 0s) << "it knows all its grants";
  young.guard_marker = "ab cd 60000/1000000/30000 990000 changed";
  EXPECT_EQ(pause_left(young, 30s, 1000s), 50s) << "the longest guard in use counts";
  EXPECT_EQ(condition(young, "pause").result, grade::kept) << "long ago by the clock of today";
  young.guard_marker = "ff cd 60000/0/0 0 none";
  EXPECT_EQ(pause_left(young, 30s, 1000s), 20s) << "of another server";
  young.info["run_id"] = "cd";
  EXPECT_EQ(pause_left(young, 30s, 1000s), 0s) << "with its first replica it took another id";
  young.info["master_replid2"] = "ff";
  EXPECT_EQ(pause_left(young, 30s, 1000s), 20s) << "it was promoted";
  young.guard_marker = "ab cd -5 99999999999999999999 x";
  EXPECT_LE(pause_left(young, 30s, 1000s), 30s);
}

TEST(redis_server_findings, tell_of_a_guard_that_another_client_has_asked_for) {
  server_facts armed = facts();
  const auto rows = [&](const dialect& in) {
    const auto all = findings_of(armed, in, 30s);
    return std::count_if(all.begin(), all.end(),
                         [](const finding& f) { return f.condition == "longest guard"; });
  };
  EXPECT_EQ(rows({}), 0) << "no marker";
  armed.guard_marker = "ab cd 90000000/0/0 0 none";
  const finding found = condition(armed, "longest guard");
  EXPECT_EQ(found.result, grade::warning);
  EXPECT_THAT(found.observed, AllOf(HasSubstr("90000 s"), HasSubstr("30 s")));
  EXPECT_THAT(found.remedy, HasSubstr(R"x(redis-cli DEL "$(printf '%s\037%s' '{holdfast:}' guard)")x"));
  dialect same;
  same.guard = 25h;
  EXPECT_EQ(rows(same), 0);
  same.guard = 0s;
  EXPECT_EQ(rows(same), 0) << "this client does not keep to it";
}

TEST(redis_server_findings, overflow_at_no_number) {
  server_facts huge = facts();
  for (const char* name :
       {"maxmemory", "used_memory", "connected_clients", "connected_slaves", "uptime_in_seconds"})
    huge.info[name] = "9223372036854775807";
  huge.settings["min-replicas-max-lag"] = "9223372036854775807";
  huge.settings["min-replicas-to-write"] = "-5";
  huge.clock_ahead = -9'000'000'000'000'000us;
  EXPECT_FALSE(findings_of(huge, {}, 30s).empty());
}

TEST(redis_server_rights, name_no_client_of_others_and_write_no_key_that_is_there) {
  dialect in;
  for (const right& each : needed_rights(in, "probe", true)) {
    if (each.probe[0] == "CLIENT" && each.probe[1] == "KILL") {
      EXPECT_EQ(each.probe[3], "9223372036854775807");
    }
    if (each.probe[0] == "SET" || each.probe[0] == "ZADD") {
      EXPECT_NE(std::find(each.probe.begin(), each.probe.end(), "XX"), each.probe.end());
    }
  }
}

}  // namespace
}  // namespace holdfast::redis
