// What `holdfast doctor` concludes from what the servers of a set say, where no test can make real ones say
// it.

#include <algorithm>
#include <gmock/gmock.h>
#include <string>
#include <vector>

#include "stores/redis/link/set_findings.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using grade = finding::grade;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class redis_set_findings : public testing::Test {
 protected:
  redis_set_findings() {
    in_.quorum = {{"a", "1"}, {"b", "1"}, {"c", "1"}};
    for (const server_address& each : in_.quorum) {
      server_facts one;
      one.place = each.place();
      one.user = "locks";
      one.set = value{};
      one.clock_ahead = 0us;
      one.info = {{"run_id", each.host}, {"uptime_in_seconds", "100000"}};
      said_.push_back(std::move(one));
    }
  }
  static value error(std::string text) { return {value::kind::error, 0, std::move(text), {}}; }

  /// The worst finding of that name.
  [[nodiscard]] finding condition(const std::string& name) const {
    finding found;
    for (const finding& each : findings_of_set(in_, said_))
      if (each.condition == name && (found.condition.empty() || found.result == grade::kept)) found = each;
    EXPECT_EQ(found.condition, name) << "nothing is said of it";
    return found;
  }

  settings in_;
  std::vector<server_facts> said_;
};

TEST_F(redis_set_findings, are_all_kept_of_servers_in_order) {
  for (const finding& each : findings_of_set(in_, said_))
    EXPECT_EQ(each.result, grade::kept) << each.condition;
  EXPECT_THAT(condition("set").observed, HasSubstr("no server keeps another set"));
}

TEST_F(redis_set_findings, say_of_a_set_no_more_than_the_servers_have_said) {
  said_.pop_back();
  EXPECT_EQ(condition("set").result, grade::kept);
  EXPECT_THAT(condition("set").observed, HasSubstr("no server that answers keeps another set"));
  for (const value::kind odd : {value::kind::number, value::kind::list, value::kind::push}) {
    said_[0].set = value{odd, 1, "a:1,b:1,c:1", {}};
    const finding found = condition("set");
    EXPECT_EQ(found.result, grade::unknown);
    EXPECT_EQ(found.subject, "a:1");
    EXPECT_THAT(found.meaning, HasSubstr("may be held twice")) << "clients do not refuse such an answer";
    EXPECT_THAT(found.remedy, HasSubstr("answer GET"));
  }
}

// The key is a right one, and keeps clients of other sets away.
TEST_F(redis_set_findings, delete_no_key_because_of_an_error_that_says_nothing_of_it) {
  for (const char* text :
       {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script",
        "MASTERDOWN Link with MASTER is down", "ERR unknown command", "NOPERM this user"}) {
    said_[1].set = error(text);
    const finding found = condition("set");
    EXPECT_EQ(found.result, grade::unknown) << text;
    EXPECT_THAT(found.observed, EndsWith(text));
    EXPECT_THAT(found.remedy, AllOf(Not(HasSubstr("DEL")), Not(testing::IsEmpty())));
  }
  said_[1].set = error("LOADING Redis is loading the dataset in memory");
  EXPECT_THAT(condition("set").remedy, HasSubstr("again when that is over"));
  said_[1].set = error("WRONGTYPE Operation against a key holding the wrong kind of value");
  EXPECT_EQ(condition("set").result, grade::warning);
  EXPECT_THAT(condition("set").remedy, HasSubstr(" DEL "));
}

TEST_F(redis_set_findings, delete_a_key_over_a_connection_like_that_of_the_url) {
  said_[1].set = value{value::kind::text, 0, "x:1", {}};
  EXPECT_THAT(condition("set").remedy, EndsWith("redis-cli -h b -p 1 DEL \"$(printf '%s\\037%s' "
                                                "'{holdfast:}' quorum)\""));
  in_.tls.on = true;
  in_.tls.ca = "/etc/ca.pem";
  EXPECT_THAT(condition("set").remedy,
              AllOf(HasSubstr(" -p 1 --tls --cacert /etc/ca.pem DEL"), Not(HasSubstr("--insecure"))));
  in_.tls.verify = false;
  EXPECT_THAT(condition("set").remedy, HasSubstr(" --tls --cacert /etc/ca.pem --insecure DEL"));
  in_.tls.ca.clear();
  in_.tls.name = "locks it";
  in_.tls.cert = "me.pem";
  EXPECT_THAT(condition("set").remedy, HasSubstr(" --tls --insecure --sni 'locks it' --cert me.pem DEL"));
}

TEST_F(redis_set_findings, name_the_keys_of_a_prefix_as_redis_cli_reads_them) {
  in_.speech.prefix = "it is [ours]:";
  said_[0].set = error("NOPERM this user has no permissions to run the 'get' command");
  EXPECT_EQ(condition("set").remedy, "ACL SETUSER locks +get ~{it?is?\\[ours\\]:*");
}

TEST_F(redis_set_findings, name_a_server_that_has_two_names) {
  said_[2].info["run_id"] = "a";
  const finding found = condition("vote");
  EXPECT_EQ(found.result, grade::broken);
  EXPECT_EQ(found.subject, "c:1");
  EXPECT_EQ(found.observed, "it is the same server as a:1");
  said_[0].info.erase("run_id");
  said_[2].info.erase("run_id");
  EXPECT_EQ(findings_of_set(in_, said_).size(), 3U) << "servers that do not tell are not the same";
}

TEST_F(redis_set_findings, promise_rising_tokens_however_far_the_clocks_are_apart) {
  said_[0].clock_ahead = 999ms;
  EXPECT_EQ(condition("clocks").result, grade::kept);
  said_[0].clock_ahead = 1s;
  EXPECT_EQ(condition("clocks").result, grade::warning);
  EXPECT_THAT(condition("clocks").meaning, HasSubstr("a free lock waits"));
  said_[0].clock_ahead = in_.speech.guard;
  EXPECT_EQ(condition("clocks").result, grade::broken);
  EXPECT_THAT(condition("clocks").meaning, AllOf(HasSubstr("accept none in common"), HasSubstr("tokens rise"),
                                                 Not(HasSubstr("may fall"))));
  in_.speech.guard = 0ms;
  EXPECT_EQ(condition("clocks").result, grade::warning) << "without a guard no number is too old";
}

}  // namespace
}  // namespace holdfast::redis
