// SPDX-License-Identifier: Apache-2.0
// A standby of `elect` while its server is away.

#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::StartsWith;

class elect_at_redis : public command_test {};

TEST_F(elect_at_redis, a_standby_says_once_that_the_store_is_away) {
  redis_server server;
  // In the place of another leader: a key that stays away with the server.
  server.ask({"SET", "holdfast:boss", "theirs"});
  const auto standby = start({"elect", "boss", "--once", "--store", server.url(), "--", "true"});
  ASSERT_TRUE(eventually([&] {
    const auto shown = holdfast({"show", "boss", "--json", "--store", server.url()});
    return json::parse(shown.out)["waiters"].size() == 1;
  }));
  EXPECT_EQ(standby->err(), "");
  server.kill();
  EXPECT_TRUE(eventually([&] { return standby->err().ends_with('\n'); }));
  const auto said = standby->err();
  EXPECT_THAT(said, StartsWith("holdfast: the candidate for 'boss' goes on waiting: "));
  server.start();
  EXPECT_EQ(standby->wait().status, 0);  // it is elected, as the server has lost the key
  EXPECT_EQ(standby->err(), said) << "once for the outage";
}

}  // namespace
}  // namespace holdfast::test
