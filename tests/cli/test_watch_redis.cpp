// SPDX-License-Identifier: Apache-2.0
// `watch` on a server that holds more than locks.

#include <csignal>
#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class watching_redis : public command_test {};

// Whoever may write there can make such keys. They must not blind those who watch.
TEST_F(watching_redis, goes_on_beside_a_key_that_is_the_name_of_no_lock) {
  redis_server server;
  server.ask({"SET", "holdfast:a\nb", "1"});
  const auto watch = start({"watch", "--store", server.url()});
  const auto seen = [&](const std::string& name) {
    return eventually([&] { return watch->out().find("  " + name + "  ") != std::string::npos; });
  };
  // Each holds until it is seen: a watch that starts late, or looks late, shows no hold that has ended.
  const auto first = start_holder("x", {"--store", server.url()});
  EXPECT_TRUE(seen("x"));
  server.ask({"SET", "holdfast:c\td", "1"});
  const auto second = start_holder("y", {"--store", server.url()});
  EXPECT_TRUE(seen("y"));
  for (auto* const holder : {first.get(), second.get()}) {
    holder->signal(SIGTERM);
    EXPECT_EQ(holder->wait().status, 128 + SIGTERM);
  }
  watch->signal(SIGTERM);
  const auto said = watch->wait();
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.err, HasSubstr("is not a valid name of a lock"));
  EXPECT_EQ(said.err.find("valid name"), said.err.rfind("valid name")) << "said once: " << said.err;
}

}  // namespace
}  // namespace holdfast::test
