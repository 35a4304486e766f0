// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/link/conditions.hpp"
#include "stores/zookeeper/link/diagnosis.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::zookeeper {
namespace {

using doctor::facts;
using grade = finding::grade;
using test::expect_each_row;
using test::facts_of;

TEST(doctor_tables, know_each_case_of_zookeeper) {
  expect_each_row(
      conditions::server_conditions,
      {
          {"problem=refused", "answer", grade::warning, "refused"},
          {"state=waiting", "role", grade::broken, "knows no leader"},
          {"Mode=leader", "role", grade::kept, "is leader"},
          {"Mode=standalone", "role", grade::kept, "no other server"},
          {"state=serving;missing=mntr", "information", grade::unknown, "to mntr"},
          {"state=serving", "information", grade::kept, "srvr, conf and mntr"},
          {"minSessionTimeout=4000;tickTime=2000;two_ticks=4000", "session bounds", grade::kept, "4000 ms"},
          {"minSessionTimeout=3999;tickTime=2000;two_ticks=4000", "session bounds", grade::broken, "3999 ms"},
          {"zk_local_sessions=0", "local sessions", grade::kept, "none"},
          {"zk_local_sessions=2", "local sessions", grade::broken, "2 sessions"},
          {"zk_cnt_fsynctime=7", "forceSync", grade::kept, "7 times"},
          {"zk_cnt_fsynctime=0;zk_cnt_sync_processor_batch_size=2", "forceSync", grade::broken,
           "it wrote 2 times"},
          {"state=serving;zk_cnt_fsynctime=0;zk_cnt_sync_processor_batch_size=1", "forceSync", grade::unknown,
           "does not tell"},
      });
  expect_each_row(
      conditions::ensemble_conditions,
      {
          {"mixed=yes", "leader", grade::broken, "not of one ensemble"},
          {"mixed=no", "leader", grade::kept, "granted a session"},
          {"mixed=no;session_problem=p", "leader", grade::broken, "no session: p"},
          {"kinds_of_bounds=1", "same bounds", grade::kept, "alike"},
          {"kinds_of_bounds=2;bounds=b", "same bounds", grade::broken, "differently: b"},
          {"timeout=60000;requested=30000", "session", grade::warning, "60 s was granted"},
          {"timeout=30000;requested=60000", "session", grade::warning, "30 s was granted"},
          {"timeout=1000;requested=1000;safe_timeout=1600;tick=200", "session", grade::warning,
           "at a tick of 200 ms"},
          {"timeout=1600;requested=1600;safe_timeout=1600", "session", grade::kept, "as requested"},
          {"timeout=1;makes_world=yes;asks_for_world=yes", "access", grade::kept, "acl=world"},
          {"timeout=1;makes_world=yes;asks_for_world=no;is_local=yes", "access", grade::kept, "acl=world"},
          {"timeout=1;makes_world=yes;asks_for_world=no;is_local=no", "access", grade::warning, "acl=world"},
          {"timeout=1;makes_world=no;is_open=yes;root=/app", "access", grade::warning, "below /app"},
          {"timeout=1;makes_world=no;is_open=no", "access", grade::kept, "for one user"},
          {"timeout=1;may_read=no;client=c", "rights", grade::broken, "c may not read"},
          {"timeout=1;may_create=no;client=c", "rights", grade::broken, "c may not create"},
          {"timeout=1;rights_problem=p", "rights", grade::unknown, "examined: p"},
          {"timeout=1;may_create=yes;has_root=no", "rights", grade::kept, "not there yet"},
          {"timeout=1;may_create=yes;has_root=yes", "rights", grade::kept, "may create below"},
      });
}

TEST(doctor_zookeeper, reads_fields_and_survives_other_lines) {
  facts of;
  EXPECT_FALSE(set_fields(of, "", "="));
  EXPECT_FALSE(set_fields(of, "\n\nmntr is not executed because it is not in the whitelist.\n", "="));
  EXPECT_TRUE(set_fields(of, "tickTime=a=b\nstate=broken\nproblem=mine\n", "="));
  EXPECT_EQ(of.text("tickTime"), "a=b");
  EXPECT_FALSE(of.has("state")) << "a server has no say in that";
  EXPECT_FALSE(of.has("problem"));
}

TEST(doctor_zookeeper, compares_servers) {
  const auto concluded = [](std::vector<facts> servers) {
    facts of;
    conclude(of, servers);
    return of;
  };
  const char* bounds = ";tickTime=2000;minSessionTimeout=4000;maxSessionTimeout=40000";
  const auto one = [&](const std::string& mode) { return facts_of("Mode=" + mode + bounds); };
  EXPECT_EQ(concluded({one("leader"), one("follower")}).text("mixed"), "no");
  EXPECT_EQ(concluded({one("leader"), one("leader")}).text("mixed"), "yes");
  EXPECT_EQ(concluded({one("standalone"), one("follower")}).text("mixed"), "yes");
  EXPECT_EQ(concluded({one("standalone")}).text("mixed"), "no");
  EXPECT_EQ(concluded({one("leader"), one("follower")}).number("kinds_of_bounds"), 1);
  EXPECT_EQ(concluded({one("leader"), facts_of("minSessionTimeout=1;maxSessionTimeout=2")}).text("bounds"),
            "1 to 2 ms, 4000 to 40000 ms");
  EXPECT_FALSE(concluded({one("standalone")}).has("kinds_of_bounds"));
  EXPECT_EQ(concluded({facts_of("tickTime=9223372036854775807")}).number("safe_timeout"),
            1'000'000'000'000'000);
}

TEST(doctor_zookeeper, takes_the_last_transaction_of_the_server_that_has_most) {
  doctor::token_source all;
  const auto add = [&](std::string_view line) {
    facts of{"zk-1"};
    set_fields(of, line, ": ");
    add_transaction(of, all);
  };
  add("Zxid: 100\nMode: follower\n");
  add("Zxid: 0x\n");
  add("Zxid: 0xffffffffffffffff\n");
  add("Zxid: 0x1g\n");
  EXPECT_EQ(all.of, doctor::token_source::origin::unknown);
  add("Zookeeper version: 3.8.0\nZxid: 0x200000003\nMode: leader\n");
  add("Zxid: 0x100000004\n");
  EXPECT_EQ(all.of, doctor::token_source::origin::transactions);
  EXPECT_EQ(all.transaction, 0x2'0000'0003U);
}

}  // namespace
}  // namespace holdfast::zookeeper
