// SPDX-License-Identifier: Apache-2.0
// The URL of several independent servers. No server is needed: connections are made in the background.

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "support/failing.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Why the URL is refused; empty if it is not.
std::string refusal_of(const std::string& url) {
  try {
    const client opened{url};
    return {};
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), errc::invalid_url) << url;
    return refused.what();
  }
}

std::string servers(int count) {
  std::string all;
  for (int i = 1; i <= count; ++i) all += (i == 1 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(i);
  return all;
}

TEST(quorum_url, names_three_to_nine_servers_and_an_odd_number) {
  for (const int count : {3, 5, 7, 9}) EXPECT_EQ(refusal_of("redlock://" + servers(count)), "");
  EXPECT_THAT(refusal_of("redlock://" + servers(1)), HasSubstr("it names 1 server;"));
  for (const int count : {2, 4, 6, 8, 10, 11}) {
    EXPECT_THAT(
        refusal_of("redlock://" + servers(count)),
        AllOf(HasSubstr("it names " + std::to_string(count) + " servers"), HasSubstr("3, 5, 7 or 9")));
  }
  EXPECT_THAT(refusal_of("redlock://"), HasSubstr("redlock://host1,host2,host3"));
  EXPECT_THAT(refusal_of("redlock://a, b,c"), HasSubstr("blank"));
  EXPECT_THAT(refusal_of("redlock://A,a,c"), HasSubstr("twice")) << "hosts have no case";
}

TEST(quorum_url, names_no_server_twice) {
  EXPECT_THAT(refusal_of("redlock://a,b,a"), AllOf(HasSubstr("a:6379"), HasSubstr("twice")));
  EXPECT_THAT(refusal_of("redlock://a,b,a:6379"), HasSubstr("twice"));
  EXPECT_EQ(refusal_of("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"), "");
}

TEST(quorum_url, may_have_a_password_and_a_database) {
  EXPECT_EQ(refusal_of("redlock://u:p@" + servers(3) + "/3"), "");
  EXPECT_EQ(refusal_of("redlock://" + servers(3) + "?db=3"), "");
  EXPECT_THAT(refusal_of("redlock://" + servers(3) + "/stock"), HasSubstr("not the number of a database"));
  EXPECT_THAT(refusal_of("redlock://u:hunter2@" + servers(4)), Not(HasSubstr("hunter2")));
}

TEST(quorum_url, has_options_of_its_own) {
  const std::string url = "redlock://" + servers(3) + '?';
  EXPECT_EQ(refusal_of(url + "node_timeout=50ms&restart_guard=2s&prefix=a:&keep_idle=1h"), "");
  EXPECT_EQ(refusal_of(url + "restart_guard=0"), "");
  EXPECT_THAT(refusal_of(url + "restart_guard=1999ms"), AllOf(HasSubstr("restart_guard"), HasSubstr("2s")));
  for (const char* limit : {"0", "9ms", "2m", "soon"})
    EXPECT_THAT(refusal_of(url + "node_timeout=" + limit), HasSubstr("node_timeout")) << limit;
}

TEST(quorum_url, has_no_options_of_other_stores) {
  for (const std::string option :
       {"failover_guard", "former_primary", "replicas", "replicas_wait", "sentinel_user", "ca", "nonsense"}) {
    EXPECT_THAT(refusal_of("redlock://" + servers(3) + '?' + option + "=1"),
                AllOf(HasSubstr(option), HasSubstr("node_timeout")));
  }
  for (const std::string option : {"node_timeout", "restart_guard"})
    EXPECT_THAT(refusal_of("redis://127.0.0.1:1?" + option + "=2s"), HasSubstr(option));
}

// A list with the option that it refuses contradicts itself.
TEST(quorum_url, has_a_list_of_options_that_has_none_of_another_scheme) {
  const auto list_of = [](const std::string& url) {
    const std::string refusal = refusal_of(url + "?nonsense=1");
    return refusal.substr(std::min(refusal.find(" has "), refusal.size()));
  };
  const std::string voting = list_of("redlock://" + servers(3));
  for (const char* other : {"replicas", "failover_guard", "former_primary", "sentinel", " ca,", "user"})
    EXPECT_THAT(voting, Not(HasSubstr(other)));
  EXPECT_THAT(voting, AllOf(HasSubstr("prefix"), HasSubstr("restart_guard"), HasSubstr(", db")));
  EXPECT_THAT(list_of("redlocks://" + servers(3)), AllOf(HasSubstr(" ca,"), HasSubstr("node_timeout")));
  EXPECT_THAT(list_of("redis://127.0.0.1:1"),
              AllOf(HasSubstr("replicas"), HasSubstr(", db"), Not(HasSubstr("node_timeout")),
                    Not(HasSubstr(" ca,")), Not(HasSubstr("sentinel")), Not(HasSubstr("user"))));
  EXPECT_THAT(list_of("redis+sentinel://127.0.0.1:1/mymaster"), HasSubstr("sentinel_password"));
  EXPECT_THAT(list_of("redis+cluster://127.0.0.1:1"), Not(HasSubstr(", db")));
  EXPECT_THAT(list_of("unix:/nowhere/redis.sock"), HasSubstr("user, password"));
}

TEST(quorum_url, refuses_permits_before_anything_is_sent) {
  client locks{"redlock://" + servers(3)};
  counting_semaphore permits{locks, "stock", 2};
  const auto refused = test::failure_of([&] { return permits.try_acquire(); });
  EXPECT_EQ(refused.code, errc::invalid_argument);
  EXPECT_THAT(refused.text, HasSubstr("permits"));
}

}  // namespace
}  // namespace holdfast
