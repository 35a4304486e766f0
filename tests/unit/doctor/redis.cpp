// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "stores/redis/link/conditions.hpp"
#include "stores/redis/link/diagnosis.hpp"
#include "stores/redis/protocol/server_answers.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using doctor::facts;
using grade = finding::grade;
using test::expect_each_row;
using test::facts_of;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(doctor_tables, know_each_case_of_a_redis_server) {
  expect_each_row(
      conditions::server_conditions,
      {
          {"obstacle=BUSY", "answer", grade::broken, "BUSY"},
          {"info_error=NOPERM", "information", grade::unknown, "NOPERM"},
          {"redis_version=7.0;is_old=no", "version", grade::kept, "7.0"},
          {"redis_version=6.0;is_old=yes", "version", grade::warning, "6.0"},
          {"role=master", "role", grade::kept, "a primary"},
          {"role=slave;master_host=b", "role", grade::broken, "a replica of b"},
          {"aof_enabled=1;keeps_writes=yes;file=f;guard=0", "persistence", grade::kept, "f"},
          {"aof_enabled=0;file=f;guard=30000", "persistence", grade::kept, "nothing is granted"},
          {"aof_enabled=1;keeps_writes=no;file=f;guard=0", "persistence", grade::unknown, "the guard is off"},
          {"aof_enabled=0;file=f;guard=0", "persistence", grade::broken, "the guard is off"},
          {"maxmemory=0;maxmemory_policy=allkeys-lru", "eviction", grade::kept, "not set"},
          {"maxmemory=1;maxmemory_policy=noeviction", "eviction", grade::kept, "noeviction"},
          {"maxmemory=1;maxmemory_policy=allkeys-lru", "eviction", grade::broken, "allkeys-lru"},
          {"answers_limit=65536", "answers", grade::warning, "65536 bytes"},
          {"votes=yes;connected_slaves=1", "replicas", grade::warning, "it has 1 replica"},
          {"votes=no;connected_slaves=0;has_failover=no", "replicas", grade::kept, "no replica"},
          {"connected_slaves=0;has_failover=yes;guard=0", "replicas", grade::broken, "0 replicas"},
          {"connected_slaves=1;guard=1;settings=no", "replicas", grade::unknown, "may not read"},
          {"connected_slaves=1;guard=1;settings=yes;former_stops=no", "replicas", grade::warning, "is 0"},
          {"connected_slaves=1;guard=1;former_stops=yes;whole_guard=42000;needed_guard=42000", "replicas",
           grade::kept, "the guard is 42 s"},
          {"connected_slaves=1;guard=1;former_stops=yes;whole_guard=30000;needed_guard=42000", "replicas",
           grade::warning, "the guard is 30 s"},
          {"pause_s=0", "pause", grade::kept, "it grants"},
          {"pause_s=7", "pause", grade::warning, "for 7 s"},
          {"guard=20000;longest_ttl=30000", "guard", grade::broken, "is 20 s"},
          {"guard=1;whole_guard=30000;longest_guard=90000", "longest guard", grade::warning, "of 90 s"},
          {"", "access", grade::unknown, "everybody for a password"},
          {"is_open=no", "access", grade::kept, "does nothing"},
          {"is_open=yes;tls-auth-clients=yes;port=0", "access", grade::kept, "certificate"},
          {"is_open=yes;is_protected=yes", "access", grade::kept, "this host alone"},
          {"is_open=yes;settings=no", "access", grade::unknown, "may not read"},
          {"is_open=yes;settings=yes;protected-mode=no", "access", grade::warning, "of everybody"},
          {"is_open=yes;gives_password=yes", "password", grade::warning, "asks for none"},
          {"lacks=+get;user=u", "rights", grade::broken, "u lacks +get"},
          {"lacks=+set;user=u;may_forge=yes", "rights", grade::broken, "u lacks +set, but may read"},
          {"is_denied=no;obstacle=BUSY", "rights", grade::unknown, "which rights"},
          {"is_denied=no", "rights", grade::kept, "all that are needed"},
          {"cluster_error=NOPERM", "cluster state", grade::unknown, "NOPERM"},
          {"cluster_state=fail", "cluster state", grade::broken, "is fail"},
          {"cluster_state=ok", "cluster state", grade::kept, "is ok"},
      });
  expect_each_row(conditions::right_conditions,
                  {{"user=u;grant=+x;consequence=c", "rights", grade::warning, "u lacks +x"}});
}

TEST(doctor_tables, know_each_case_of_several_redis_servers) {
  expect_each_row(conditions::answer_conditions,
                  {{"votes=yes;problem=p;remedy=r", "answer", grade::warning, "p"},
                   {"votes=no;problem=p;meaning=m;remedy=r", "answer", grade::broken, "p"}});
  expect_each_row(conditions::sentinel_conditions,
                  {{"problem=p", "sentinel", grade::warning, "p"},
                   {"primary=m", "sentinel", grade::warning, "does not know"},
                   {"address=a;verdict=unable;check=NO", "sentinel", grade::warning, "says: NO"},
                   {"address=a;verdict=refused;check=NO", "sentinel", grade::unknown, "with NO"},
                   {"primary=m;address=a", "sentinel", grade::kept, "is at a"}});
  expect_each_row(conditions::primary_conditions,
                  {{"primary=m", "primary", grade::broken, "no Sentinel names"},
                   {"address=a", "primary", grade::kept, "it is at a"},
                   {"address=a;others=, and b", "primary", grade::broken, "at a, and b"},
                   {"knowing=1;count=3;majority=2", "quorum", grade::broken, "1 of 3"},
                   {"knowing=2;majority=2;unable=1;able=0", "quorum", grade::broken, "no Sentinel"},
                   {"knowing=2;majority=2;able=2;count=3", "quorum", grade::kept, "2 of 3"}});
  expect_each_row(conditions::slot_conditions, {{"without=0", "slots", grade::kept, "each slot"},
                                                {"without=2", "slots", grade::broken, "2 slots"}});
  expect_each_row(conditions::voter_conditions,
                  {{"other_set=o;own_set=w;deletion=d", "set", grade::broken, "'o'"},
                   {"set_error=e;set_type=wrong;deletion=d", "set", grade::warning, "answered with e"},
                   {"set_error=e;set_type=unknown", "set", grade::unknown, "answered with e"},
                   {"twin=a", "vote", grade::broken, "the same server as a"},
                   {"run_id=x;keeps_writes=no;guard=30000;up=7000", "vote", grade::warning, "7 s ago"}});
  expect_each_row(conditions::set_conditions,
                  {{"answers=2;majority=2;count=3", "majority", grade::kept, "2 of 3"},
                   {"answers=1;majority=2;count=3", "majority", grade::broken, "1 of 3"},
                   {"others=0;answers=3;count=3", "set", grade::kept, "no server keeps"},
                   {"others=0;answers=2;count=3", "set", grade::kept, "no server that answers"},
                   {"apart=999;furthest=1000", "clocks", grade::kept, "agree"},
                   {"apart=30000;furthest=1000;guard=30000", "clocks", grade::broken, "30000 ms apart"},
                   {"apart=5000;furthest=1000;guard=0", "clocks", grade::warning, "5000 ms apart"}});
}

/// What is concluded of a server of this URL that has said so.
facts concluded(std::string_view said, const settings& in = {}, std::string_view marker = {},
                std::chrono::milliseconds now = 1000s) {
  facts of = facts_of(said);
  conclude(of, in, false, 30s, marker, now);
  return of;
}

TEST(doctor_redis, counts_what_a_former_primary_may_still_write) {
  const facts server = concluded("min-replicas-to-write=1;min-replicas-max-lag=10");
  EXPECT_EQ(server.number("needed_guard"), 42'000);
  EXPECT_EQ(server.text("former_stops"), "yes");
  EXPECT_EQ(concluded("min-replicas-to-write=1;min-replicas-max-lag=0").text("former_stops"), "no");
  const facts node = concluded("cluster_enabled=1;cluster-node-timeout=10001;min-replicas-max-lag=0");
  EXPECT_EQ(node.number("needed_guard"), 42'001) << "a cluster's time is another";
  EXPECT_EQ(node.text("former_stops"), "yes");
}

TEST(doctor_redis, knows_the_lower_limit_of_the_answers_to_subscribers) {
  const auto limit = [](const std::string& limits) {
    return concluded("client-output-buffer-limit=" + limits).number("answers_limit");
  };
  EXPECT_EQ(limit("normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"), 8'388'608);
  EXPECT_EQ(limit("normal 0 0 0 slave 0 0 0 pubsub 1048576 0 0"), 1'048'576);
  EXPECT_EQ(limit("normal 0 0 0 slave 0 0 0 pubsub 33554432 65536 60"), 65'536);
  for (const char* none : {"normal 1 1 1 slave 1 1 1 pubsub 0 0 0", "normal 1 1", "pubsub -1 -1 0", ""})
    EXPECT_EQ(limit(none), 0) << none;
}

TEST(doctor_redis, knows_how_long_nothing_is_granted) {
  const std::string young = "redis_version=7;uptime_in_seconds=10;master_replid=ab";
  const auto pause = [&](const std::string& more, std::string_view marker) {
    return concluded(young + more, {}, marker).number("pause_s");
  };
  EXPECT_EQ(pause("", ""), 20);
  EXPECT_EQ(pause("", "ab cd 30000/0/0 0 none"), 0) << "it knows all its grants";
  EXPECT_EQ(pause("", "ab cd 60000/1000000/30000 990000 changed"), 50) << "the longest guard in use counts";
  EXPECT_EQ(pause("", "ff cd 60000/0/0 0 none"), 20) << "of another server";
  EXPECT_EQ(pause(";run_id=cd", "ff cd 60000/0/0 0 none"), 0) << "with its first replica it took another id";
  EXPECT_EQ(pause(";run_id=cd;master_replid2=ff", "ff cd 60000/0/0 0 none"), 20) << "it was promoted";
  EXPECT_LE(pause("", "ab cd -5 99999999999999999999 x"), 30);
  EXPECT_EQ(concluded(young, {}, "ab cd 90000000/0/0 0 none").number("longest_guard"), 90'000'000);
  settings of_set;
  of_set.quorum = {{"a", "1"}};
  EXPECT_FALSE(concluded(young, of_set).has("pause_s")) << "it votes or not";
}

TEST(doctor_redis, overflows_at_no_number) {
  const facts huge = concluded(
      "redis_version=7;uptime_in_seconds=9223372036854775807;min-replicas-max-lag=9223372036854775807;"
      "min-replicas-to-write=-5;connected_slaves=9223372036854775807;maxmemory=9223372036854775807");
  std::vector<finding> all;
  doctor::examine(conditions::server_conditions, huge, all);
  EXPECT_FALSE(all.empty());
}

TEST(doctor_redis, tries_rights_without_touching_what_is_there) {
  dialect other;
  other.prefix = R"(it's "a")";
  for (const right& each : needed_rights(other, "probe", true)) {
    if (each.grant.starts_with("\"~") || each.grant.starts_with("~")) {
      EXPECT_EQ(each.grant, R"("~{*}it's?\"a\"*")");
    }
    if (each.probe[0] == "CLIENT" && each.probe[1] == "KILL") {
      EXPECT_EQ(each.probe[3], "9223372036854775807");
    }
    if (each.probe[0] == "SET" || each.probe[0] == "ZADD") {
      EXPECT_NE(std::find(each.probe.begin(), each.probe.end(), "XX"), each.probe.end());
    }
  }
}

std::vector<sentinel_answers> three_sentinels() {
  std::vector<sentinel_answers> all(3);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].place = "s" + std::to_string(i) + ":26379";
    all[i].primary = server_address{"db-1", "6379"};
    all[i].check = {value::kind::text, 0, "OK 3 usable Sentinels", {}};
  }
  return all;
}

TEST(doctor_redis, gathers_what_sentinels_say) {
  settings in;
  in.sentinel.primary = "main";
  auto all = three_sentinels();
  EXPECT_EQ(conclude(all, in).number("able"), 3);
  all[1].check = {value::kind::error, 0, "NOQUORUM 1 usable Sentinels", {}};
  EXPECT_EQ(conclude(all, in).number("able"), 2);
  EXPECT_EQ(conclude(all, in).number("unable"), 1);
  all[1].primary = server_address{"db-2", "6379"};
  EXPECT_EQ(conclude(all, in).text("address"), "db-1:6379");
  EXPECT_EQ(conclude(all, in).text("others"), ", and s1:26379 that it is at db-2:6379");
  EXPECT_EQ(conclude(all, in).text("wrong"), "s1:26379");
  all[2].check = {value::kind::error, 0, "NOPERM", {}};
  EXPECT_EQ(conclude(all, in).number("able"), 1);
  for (sentinel_answers& each : all) each.primary.reset();
  EXPECT_EQ(named_by_most(all), std::nullopt);
  EXPECT_FALSE(conclude(all, in).has("address"));
}

class doctor_redlock : public testing::Test {
 protected:
  doctor_redlock() {
    in_.quorum = {{"a", "1"}, {"b", "1"}, {"c", "1"}};
    for (const server_address& each : in_.quorum) {
      server_answers one;
      one.at = each;
      one.said = facts_of("user=locks;keeps_writes=yes;run_id=" + each.host);
      one.said.subject = each.place();
      one.set = value{};
      said_.push_back(std::move(one));
    }
  }
  /// The worst finding of that name.
  [[nodiscard]] finding condition(const std::string& name) const {
    finding found;
    for (const finding& each : findings_of_set(in_, said_))
      if (each.condition == name && (found.condition.empty() || found.result == grade::kept)) found = each;
    return found;
  }
  static value text(value::kind kind, std::string of) { return {kind, 0, std::move(of), {}}; }

  settings in_;
  std::vector<server_answers> said_;
};

// The key is a right one, and keeps clients of other sets away.
TEST_F(doctor_redlock, deletes_no_key_because_of_an_answer_that_says_nothing_of_it) {
  for (const value::kind odd : {value::kind::number, value::kind::list, value::kind::push}) {
    said_[0].set = text(odd, "a:1,b:1,c:1");
    EXPECT_EQ(condition("set").result, grade::unknown);
    EXPECT_THAT(condition("set").remedy, HasSubstr("answer GET"));
  }
  said_[0].set = value{};
  for (const char* error :
       {"LOADING the dataset", "BUSY a script", "MASTERDOWN Link", "ERR unknown", "NOPERM this user"}) {
    said_[1].set = text(value::kind::error, error);
    EXPECT_EQ(condition("set").result, grade::unknown) << error;
    EXPECT_THAT(condition("set").observed, EndsWith(error));
    EXPECT_THAT(condition("set").remedy, AllOf(Not(HasSubstr("DEL")), Not(testing::IsEmpty())));
  }
  said_[1].set = text(value::kind::error, "WRONGTYPE Operation against a key");
  EXPECT_EQ(condition("set").result, grade::warning);
  EXPECT_THAT(condition("set").remedy, HasSubstr(" DEL "));
}

TEST_F(doctor_redlock, deletes_a_key_of_the_database_of_the_url) {
  said_[1].set = text(value::kind::text, "x:1");
  EXPECT_THAT(condition("set").remedy,
              EndsWith("redis-cli -h b -p 1 DEL \"$(printf '%s\\037%s' '{holdfast:}' quorum)\""));
  in_.database = 3;
  EXPECT_THAT(condition("set").remedy, HasSubstr(" -p 1 -n 3 DEL"));
}

TEST_F(doctor_redlock, names_a_server_that_has_two_names) {
  said_[2].said = facts_of("run_id=a");
  EXPECT_EQ(condition("vote").observed, "it is the same server as a:1");
  said_[0].said = said_[2].said = facts_of("");
  EXPECT_EQ(condition("vote"), finding{}) << "servers that do not tell are not the same";
}

}  // namespace
}  // namespace holdfast::redis
