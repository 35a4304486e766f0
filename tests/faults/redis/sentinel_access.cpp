// SPDX-License-Identifier: Apache-2.0
// Which Sentinels and servers a client of a redis+sentinel: URL is let in to, and what it is told where it is
// not.

#include "faults/redis/documented_user.hpp"
#include "faults/redis/sentinel.hpp"
#include "support/certificates.hpp"

namespace holdfast::faults {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

failing try_to_lock(const std::string& url, const client_options& options = {}) {
  return known_failure_of([&] {
    client locks{url, client_options{options}.flush_limit(0ms).locks(patient())};
    mutex{locks, "stock"}.lock();
  });
}

class redis_sentinel_access : public on_sentinels {
 protected:
  redis_sentinel_access()
      : on_sentinels{{.password = "hunter2-server", .sentinel_password = "hunter2-sentinel"}} {}

  [[nodiscard]] std::string url(const std::string& server, const std::string& options) const {
    std::string hosts;
    for (const std::uint16_t port : group_.sentinel_ports())
      hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    return "redis+sentinel://" + server + hosts + "/mymaster?failover_guard=0" + options;
  }
};

TEST_F(redis_sentinel_access, takes_a_password_for_the_servers_and_one_for_the_sentinels) {
  EXPECT_FALSE(try_to_lock(group_.url()).code);
  EXPECT_FALSE(
      try_to_lock(url("default:hunter2-server@", "&sentinel_user=default&sentinel_password=hunter2-sentinel"))
          .code);
  EXPECT_FALSE(
      try_to_lock(url("", "&sentinel_password=hunter2-sentinel"), client_options{}.password("hunter2-server"))
          .code);
}

TEST_F(redis_sentinel_access, is_refused_at_once_and_tells_no_password) {
  for (const std::string& wrong :
       {url(":hunter2-server@", ""), url(":hunter2-server@", "&sentinel_password=hunter2-server"),
        url(":hunter2-server@", "&sentinel_user=nobody&sentinel_password=hunter2-sentinel"),
        url("", "&sentinel_password=hunter2-sentinel"),
        url(":hunter2-sentinel@", "&sentinel_password=hunter2-sentinel")}) {
    const auto refused = failure_of([&] {
      client locks{wrong};
      mutex{locks, "stock", endless()}.lock();
    });
    EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
    EXPECT_THAT(refused.text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(refused.text, HasSubstr("127.0.0.1:" + std::to_string(group_.sentinel_ports()[0])));
  }
}

TEST_F(redis_sentinel_access, needs_no_more_rights_at_a_sentinel_than_the_documents_list) {
  const auto user = documented_user("redis-sentinel.md");
  ASSERT_GT(user.size(), 3U);
  for (std::size_t i = 0; i < group::count; ++i) {
    ASSERT_EQ(group_.sentinel(i).ask(user), "OK");
    group_.sentinel(i).ask({"ACL", "LOG", "RESET"});
  }
  const std::string options = "&sentinel_user=lookup&sentinel_password=secret";
  client locks{url(":hunter2-server@", options)};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  await([&] { return subscribers(group_.sentinel(0)) == 1; }, "the client has not subscribed");
  group_.replicate();
  group_.fail_over();
  group_.await_clients(1);
  EXPECT_EQ(renew(held), renewal::renewed);
  const auto unknown =
      try_to_lock("redis+sentinel://:hunter2-server@127.0.0.1:" + std::to_string(group_.sentinel_ports()[0]) +
                  "/nobody?failover_guard=0" + options);
  EXPECT_EQ(unknown.code, errc::invalid_url) << unknown.text;
  EXPECT_THAT(unknown.text, HasSubstr("mymaster"));
  for (std::size_t i = 0; i < group::count; ++i)
    EXPECT_EQ(group_.sentinel(i).ask({"ACL", "LOG"}), "") << "what was refused";
}

class redis_sentinel_tls : public on_sentinels {
 protected:
  redis_sentinel_tls() : on_sentinels{{.tls = true}} {}
};

TEST_F(redis_sentinel_tls, is_with_sentinels_and_servers_and_through_failovers) {
  client locks{group_.url()};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  group_.replicate();
  group_.fail_over();
  group_.await_clients(1);
  EXPECT_EQ(renew(held), renewal::renewed);
  group_.replicate();
  group_.primary().kill();
  EXPECT_EQ(renew(held), renewal::renewed);
  expect_released(held);
}

TEST_F(redis_sentinel_tls, trusts_no_sentinel_whose_authority_it_does_not_know) {
  const test::scratch_folder folder;
  const test::certificates other{folder};
  std::string url = group_.url();
  const auto begin = url.find("ca=") + 3;
  url.replace(begin, url.find('&', begin) - begin, other.authority());
  const auto refused = try_to_lock(url);
  EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("not trusted"));
}

class redis_sentinel_urls : public on_sentinels {};

TEST_F(redis_sentinel_urls, that_name_an_unknown_primary_are_refused_at_once_with_the_known_names) {
  std::string url = group_.url();
  url.replace(url.find("mymaster"), 8, "nobody");
  const auto refused = failure_of([&] {
    client locks{url};
    mutex{locks, "stock", endless()}.lock();
  });
  EXPECT_EQ(refused.code, errc::invalid_url) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr("the primary 'nobody'"), HasSubstr("but knows mymaster")));
}

TEST_F(redis_sentinel_urls, of_one_server_that_lead_to_a_sentinel_are_told_the_right_url) {
  const std::string place = "127.0.0.1:" + std::to_string(group_.sentinel_ports()[1]);
  const auto refused = try_to_lock("redis://" + place);
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("redis+sentinel://" + place + "/mymaster"));
}

TEST_F(redis_sentinel_urls, that_lead_to_a_server_are_told_so) {
  const std::string place = "127.0.0.1:" + std::to_string(group_.port(0));
  const auto refused = try_to_lock("redis+sentinel://" + place + "/mymaster");
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr("no Sentinel"), HasSubstr("redis://" + place)));
}

TEST_F(redis_sentinel_urls, may_name_a_database) {
  client third{group_.url("/3")};
  client fourth{group_.url("?db=4")};
  EXPECT_TRUE(mutex(third, "stock").try_lock());
  EXPECT_TRUE(mutex(fourth, "stock").try_lock()) << "databases do not know of one another";
}

TEST(redis_sentinel_url, that_cannot_be_read_says_why) {
  const auto refusal = [](const std::string& url) {
    const auto refused = failure_of([&] { client{url}; });
    EXPECT_EQ(refused.code, errc::invalid_url) << url;
    EXPECT_THAT(refused.text, Not(HasSubstr("hunter2"))) << url;
    return refused.text;
  };
  EXPECT_THAT(refusal("redis+sentinel://"), HasSubstr("names no Sentinel"));
  EXPECT_THAT(refusal("redis+sentinel:///mymaster"), HasSubstr("names no Sentinel"));
  EXPECT_THAT(refusal("redis+sentinel://a,b"), HasSubstr("does not name the primary"));
  EXPECT_THAT(refusal("redis+sentinel://a,b//3"), HasSubstr("does not name the primary"));
  EXPECT_THAT(refusal("redis+sentinel://a,b/my%20master"), HasSubstr("name of the primary"));
  EXPECT_THAT(refusal("redis+sentinel://a,,b/mymaster"), HasSubstr("one of its hosts is empty"));
  EXPECT_THAT(refusal("redis+sentinel://:hunter2@a:0,b/mymaster"), HasSubstr("port"));
  EXPECT_THAT(refusal("redis+sentinel://a/mymaster/x?sentinel_password=hunter2"), HasSubstr("database"));
  EXPECT_THAT(refusal("redis+sentinel://a/mymaster?sentinel=1"),
              HasSubstr("sentinel_user, sentinel_password"));
  EXPECT_THAT(refusal("redis://a?sentinel_password=hunter2"), HasSubstr("unknown option"));
  EXPECT_THAT(refusal("redis+sentinel://a/mymaster?sentinel_password=***"), HasSubstr("masked"));
  EXPECT_EQ(client{"redis+sentinel://app:hunter2@a,b/mymaster?sentinel_password=hunter2"}.url(),
            "redis+sentinel://app:***@a,b/mymaster?sentinel_password=***");
}

}  // namespace
}  // namespace holdfast::faults
