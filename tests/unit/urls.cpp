#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <vector>

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
  for (const auto* url : {"redis://u:hunter2?x@host", "redis://u:hun@hunter2@host", "redis:u:hunter2@host",
                          "redis://u:hunter2#x@host", "redis://u:/hunter2@host",
                          "redis://u:hunter2@host?a=b@c", "redis://host?password=hunter2@x",
                          "redis://host?a=1&password=x?hunter2", "redis://u:p@host?password=hunter2"}) {
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

TEST(a_client, refuses_urls_that_it_cannot_read_and_says_why) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "scheme"},
      {"locks.db", "scheme"},
      {"://host", "scheme"},
      {"gopher://host", "gopher"},
      {"SQLITE", "scheme"},
      {"memory:a?nonsense=1", "nonsense"},
      {"sqlite:/nowhere/locks.db?nonsense=1", "nonsense"},
      {"memory:a?%zz=1", "%"},
      {"memory:a%2", "%"},
      {"memory:a%00b", "%"},
      {"memory:a?=1", "option"},
      {"memory:a?x%1Ay=1", "control"},
  };
  for (const auto& [url, reason] : bad) {
    try {
      const client locks{url};
      ADD_FAILURE() << url << " was opened";
    } catch (const error& failed) {
      EXPECT_EQ(failed.code(), errc::invalid_url) << url << ": " << failed.what();
      EXPECT_THAT(failed.what(), HasSubstr(reason)) << url;
    }
  }
}

TEST(a_client, that_cannot_be_opened_does_not_tell_the_password) {
  for (const auto* url :
       {"gopher://u:hunter2@host", "memory:a?password=hunter2", "sqlite:/x?secret=hunter2"}) {
    try {
      const client locks{url};
      ADD_FAILURE() << url << " was opened";
    } catch (const error& failed) {
      EXPECT_THAT(failed.what(), Not(HasSubstr("hunter2")));
    }
  }
}

TEST(a_client, tells_its_url) { EXPECT_EQ(client{"memory:tells-its-url"}.url(), "memory:tells-its-url"); }

}  // namespace
}  // namespace holdfast
