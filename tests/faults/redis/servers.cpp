// SPDX-License-Identifier: Apache-2.0
// The servers that the tests start, and those that are too old for us.

#include "faults/faults.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::redis_server;
using testing::HasSubstr;
using testing::Not;

TEST(redis_server_itself, is_the_one_that_was_asked_for) {
  redis_server server;
  const auto program = std::filesystem::path{redis_server::usual_program()}.filename().string();
  EXPECT_THAT(server.ask({"INFO", "server"}), HasSubstr('/' + program + "\r\n"));
}

TEST(redis_servers, that_are_too_old_are_told_so_at_once) {
#ifndef __x86_64__
  GTEST_SKIP() << "scripts/setup has redis-5.0 for x86-64 alone";
#endif
  const std::string program = HOLDFAST_TEST_SERVERS "/redis-5.0";
  for (const std::string password : {"", "hunter2"}) {
    redis_server server{{.program = program, .password = password}};
    EXPECT_THAT(server.ask({"INFO", "server"}), HasSubstr("redis_version:5."));
    const auto refused = failure_of([&] {
      client locks{server.url()};
      mutex{locks, "stock", endless()}.lock();
    });
    EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("needs Redis 6 or newer, or Valkey"));
    EXPECT_THAT(refused.text, HasSubstr("127.0.0.1:" + std::to_string(server.port())));
    EXPECT_THAT(refused.text, Not(HasSubstr("hunter2")));
    EXPECT_EQ(server.ask({"DBSIZE"}), "0");
  }
}

}  // namespace
}  // namespace holdfast::faults
