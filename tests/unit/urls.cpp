// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "base/url.hpp"
#include "stores/open.hpp"
#include "support/failing.hpp"
#include <holdfast/client.hpp>
#include <holdfast/error.hpp>

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(masked_url, hides_the_password_and_nothing_else) {
  EXPECT_EQ(masked_url("redis://user:secret@host:6379/0?prefix=a"), "redis://user:***@host:6379/0?prefix=a");
  EXPECT_EQ(masked_url("redis://:secret@host"), "redis://:***@host");
  EXPECT_EQ(masked_url("postgresql://user@host/db"), "postgresql://user@host/db");
  EXPECT_EQ(masked_url("zk://a:2181,b:2181/chroot"), "zk://a:2181,b:2181/chroot");
  EXPECT_EQ(masked_url("sqlite:/var/lib/app/locks.db?busy=5s"), "sqlite:/var/lib/app/locks.db?busy=5s");
  EXPECT_EQ(masked_url("memory:"), "memory:");
  EXPECT_EQ(masked_url(""), "");
}

// Else the program of `holdfast run`, and whoever takes a URL from a message, would see other tokens.
TEST(masked_url, shows_the_token_base) {
  EXPECT_EQ(masked_url("redis://:secret@host?token_base=17&prefix=a"),
            "redis://:***@host?token_base=17&prefix=a");
  EXPECT_EQ(masked_url("zk://a,b/root?layout=kazoo&token_base=17"),
            "zk://a,b/root?layout=kazoo&token_base=17");
  EXPECT_FALSE(store_url{"redis://host?token_base=17"}.has_masked_password());
  EXPECT_EQ(masked_url("redis://host?token_base=hunter2"), "redis://host?token_base=***") << "no number";
  EXPECT_EQ(masked_url("redis://host?my_token_base=17"), "redis://host?my_token_base=***");
}

TEST(masked_url, hides_passwords_among_the_options) {
  for (const auto* option :
       {"password", "PASSWORD", "sslpassword", "passwd", "auth", "secret", "%70assword"}) {
    const std::string url = "mysql://host/db?a=1&" + std::string{option} + "=hunter2&b=2";
    EXPECT_THAT(masked_url(url), Not(HasSubstr("hunter2"))) << url;
    EXPECT_THAT(masked_url(url), HasSubstr("b=2"));
  }
  EXPECT_THAT(masked_url("zk://host/?auth=digest:user:hunter2"), Not(HasSubstr("hunter2")));
}

TEST(masked_url, hides_passwords_that_are_badly_written) {
  for (const auto* url :
       {"redis://u:hunter2?x@host", "redis://u:hun@hunter2@host", "redis:u:hunter2@host",
        "redis://u:hunter2#x@host", "redis://u:/hunter2@host", "redis://u:hunter2@host?a=b@c",
        "redis://host?password=hunter2@x", "redis://host?a=1&password=x?hunter2",
        "redis://u:p@host?password=hunter2", "app:hunter2@host/db", "app:/hunter2@host",
        "host=a password=hunter2", "password='x hunter2' host=a", "host=a port=1 sslpassword = hunter2",
        // as portals and other clients have it
        "cache.example:6380,password=hunter2,ssl=True", "redis://h:6380,ssl=True,Password=hun,hunter2",
        "Server=db;Database=app;User Id=u;Password=hunter2;", "Server=db;Uid=u;Pwd=hunter2;",
        "jdbc:sqlserver://h:1433;user=u;password=hunter2"}) {
    EXPECT_THAT(masked_url(url), Not(HasSubstr("hunter2"))) << url;
  }
}

RC_GTEST_PROP(masked_url, never_shows_a_password_whatever_it_holds, ()) {
  const auto noise = rc::gen::container<std::string>(rc::gen::inRange('!', '~'));
  const std::string secret = "hunter2" + *noise;
  const std::string user = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
  RC_ASSERT(masked_url("redis://" + user + ':' + secret + "@host/0").find("hunter2") == std::string::npos);
}

RC_GTEST_PROP(masked_url, of_what_is_masked_already_changes_nothing, (const std::string& url)) {
  RC_ASSERT(masked_url(masked_url(url)) == masked_url(url));
}

TEST(store_url, takes_durations_as_the_command_does) {
  using namespace std::chrono_literals;
  store_url url{"redis://host?keep=1h30m&brief=250ms&bare=90&broken=1h30"};
  EXPECT_EQ(url.take_duration("keep", 1s), 90min);
  EXPECT_EQ(url.take_duration("brief", 1s), 250ms);
  EXPECT_EQ(url.take_duration("bare", 1s), 90s);
  EXPECT_EQ(url.take_duration("missing", 1s), 1s);
  const auto failed = test::failure_of([&] { return url.take_duration("broken", 1s); });
  EXPECT_EQ(failed.code, errc::invalid_url);
  EXPECT_THAT(failed.text, HasSubstr("'broken' is not a duration"));
}

// As `holdfast run` shows the store to its program: the server would count each try as a failed log-in.
TEST(a_client, logs_in_with_no_password_that_was_masked) {
  for (const char* url : {"redis://:***@127.0.0.1:1", "rediss://u:***@127.0.0.1:1/0?prefix=a",
                          "unix:/nowhere?password=***", "postgresql://u:***@127.0.0.1:1/db",
                          "postgresql://127.0.0.1:1/db?user=u&password=***&sslmode=disable",
                          "mysql://u:***@127.0.0.1:1/db", "zk://127.0.0.1:1/?auth=***"}) {
    const auto refused = test::failure_of([&] { const client locks{url}; });
    EXPECT_EQ(refused.code, errc::invalid_url) << url;
    EXPECT_THAT(refused.text,
                testing::AllOf(HasSubstr("its password is masked"), HasSubstr("--password-file")));
  }
  EXPECT_EQ(store_url{"redis://:***@h"}.has_masked_password(), true);
  EXPECT_EQ(store_url{"redis://:%2A%2A%2A@h"}.has_masked_password(), false) << "what it really is";
  EXPECT_EQ(store_url{"redis://:***x@h"}.has_masked_password(), false);
  EXPECT_EQ(store_url{"sqlite:/srv/***"}.has_masked_password(), false);
}

void expect_refused(const std::string& url, const std::string& reason) {
  const auto failed = test::failure_of([&] { const client locks{url}; });
  EXPECT_EQ(failed.code, errc::invalid_url) << url << ": " << failed.text;
  EXPECT_THAT(failed.text, HasSubstr(reason)) << url;
  EXPECT_THAT(failed.text, Not(HasSubstr("::"))) << "the reason ends in a colon";
}

TEST(a_client, refuses_urls_that_it_cannot_read_and_says_why) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "scheme"},
      {"locks.db", "scheme"},
      {"://host", "scheme"},
      {"127.0.0.1:6379", "write redis://127.0.0.1:6379"},
      {"gopher://host", "gopher"},
      {"SQLITE", "scheme"},
      {"memory:a?nonsense=1", "nonsense"},
      {"sqlite:/nowhere/locks.db?nonsense=1", "nonsense"},
      {"memory:a?%zz=1", "%"},
      {"memory:a%2", "%"},
      {"memory:a%00b", "%"},
      {"memory:a?=1", "option"},
      {"memory:a?x%1Ay=1", "control"},
      {"redis://u:pa?ss@host:6379", "write that as %3F"},
      {"redis://u:pa?=ss@host:6379", "write that as %3F"},
  };
  for (const auto& [url, reason] : bad) expect_refused(url, reason);
}

TEST(a_client, says_where_several_servers_stand_in_a_url) {
  const auto known = stores::known_schemes();
  for (const auto& [scheme, reason] : {std::pair{"redis", "several hosts"},
                                       {"mysql", "several hosts"},
                                       {"postgresql", "host=HOST1,HOST2"}}) {
    const bool is_built = std::find(known.begin(), known.end(), scheme) != known.end();
    for (const char* hosts : {"h1:1,h2:2", "h1,h2"})
      expect_refused(std::string{scheme} + "://" + hosts + "/0", is_built ? reason : "unknown scheme");
  }
}

TEST(a_client, that_cannot_be_opened_does_not_tell_the_password) {
  for (const auto* url :
       {"gopher://u:hunter2@host", "memory:a?password=hunter2", "sqlite:/x?secret=hunter2"}) {
    const auto failed = test::failure_of([&] { const client locks{url}; });
    EXPECT_TRUE(failed.code) << url << " was opened";
    EXPECT_THAT(failed.text, Not(HasSubstr("hunter2")));
  }
}

TEST(a_client, tells_its_url) { EXPECT_EQ(client{"memory:tells-its-url"}.url(), "memory:tells-its-url"); }

/// What is said of it when it is taken apart.
std::string refusal_of_servers(std::string_view text) {
  try {
    static_cast<void>(store_url{text}.split_many());
    return "none";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::invalid_url);
    return e.detail();
  }
}

TEST(urls, of_several_servers_have_a_port_each_or_none_and_one_root) {
  using hosts = std::vector<std::pair<std::string, std::string>>;
  const auto three = store_url{"zk://a:2181,b,[::1]:2183/apps/shop?layout=kazoo"}.split_many();
  EXPECT_EQ(three.hosts, (hosts{{"a", "2181"}, {"b", ""}, {"::1", "2183"}}));
  EXPECT_EQ(three.rest, "apps/shop");
  EXPECT_EQ(store_url{"zk://a"}.split_many().hosts, (hosts{{"a", ""}}));
  EXPECT_TRUE(store_url{"zk://"}.split_many().hosts.empty());
  EXPECT_EQ(store_url{"zk://a/with%20space"}.split_many().rest, "with space");
}

TEST(urls, of_several_servers_may_have_a_user) {
  using hosts = std::vector<std::pair<std::string, std::string>>;
  const auto all =
      store_url{"redis+sentinel://app:p%40ss,/word@a,[::1]:26380/mymaster/3"}.split_many_with_user();
  EXPECT_EQ(all.user, "app");
  EXPECT_EQ(all.password, "p@ss,/word");
  EXPECT_EQ(all.hosts, (hosts{{"a", ""}, {"::1", "26380"}}));
  EXPECT_EQ(all.rest, "mymaster/3");
  const auto none = store_url{"redis+sentinel://a:1,b/mymaster"}.split_many_with_user();
  EXPECT_EQ(none.user + none.password, "");
  EXPECT_EQ(none.hosts, (hosts{{"a", "1"}, {"b", ""}}));
  EXPECT_EQ(masked_url("redis+sentinel://app:hunter2@a,b/m?sentinel_user=x&sentinel_password=hunter2"),
            "redis+sentinel://app:***@a,b/m?sentinel_user=x&sentinel_password=***");
}

TEST(urls, of_several_servers_say_what_is_wrong_with_one_of_them) {
  EXPECT_THAT(refusal_of_servers("zk:a,b"), testing::HasSubstr("//host"));
  EXPECT_THAT(refusal_of_servers("zk://a,,b"), testing::HasSubstr("hosts is empty"));
  EXPECT_THAT(refusal_of_servers("zk://a,b:0"), testing::HasSubstr("port"));
  EXPECT_THAT(refusal_of_servers("zk://a,b:65536"), testing::HasSubstr("port"));
  EXPECT_THAT(refusal_of_servers("zk://a,[::1"), testing::HasSubstr("["));
  EXPECT_THAT(refusal_of_servers("zk://me:secret@a,b"), testing::HasSubstr("user"));
}

TEST(urls, mask_what_says_who_we_are_to_zookeeper) {
  const store_url url{"zk://a/r?auth=digest:bob:hunter2&acl=digest:bob:c2VjcmV0&layout=kazoo"};
  EXPECT_EQ(url.masked(), "zk://a/r?auth=***&acl=***&layout=kazoo");
}

}  // namespace
}  // namespace holdfast
