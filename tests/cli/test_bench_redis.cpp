// What bench says of a Redis server comes from the server's own counters.

#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Gt;
using testing::Le;

class bench_on_redis : public command_test {
 protected:
  json measure(words arguments, const std::string& url) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"--json", "--store", url});
    const auto said = holdfast(arguments);
    EXPECT_EQ(said.status, 0) << said.err;
    const auto lines = parse_lines(said.out);
    EXPECT_EQ(lines.size(), 1U);
    return lines.empty() ? json{} : lines.front();
  }

  /// Two: one command to acquire, one to release. The last release may come after the counting.
  void expect_pairs(const json& measured, double pairs) {
    ASSERT_TRUE(measured.contains("store_commands_per_pair")) << measured;
    EXPECT_THAT(measured["store_commands_per_pair"].get<double>(),
                AllOf(Ge(2 - 2 / pairs), Le(2 + 2 / pairs)));
    EXPECT_GT(measured["store_calls_per_pair"], measured["store_commands_per_pair"]);
    EXPECT_GT(measured["store_commands_per_s"], 0);
  }
};

TEST_F(bench_on_redis, a_pair_is_two_commands) {
  const redis_server server;
  expect_pairs(measure({"pair", "--count", "500"}, server.url()), 500);
}

TEST_F(bench_on_redis, counts_with_a_password_in_a_database_and_through_a_unix_socket) {
  const redis_server server{{.password = "se:cret@/%25"}};
  const std::string escaped = "se%3Acret%40%2F%2525";
  const auto port = std::to_string(server.port());
  expect_pairs(
      measure({"pair", "--count", "100"}, "redis://default:" + escaped + "@127.0.0.1:" + port + "/3"), 100);
  expect_pairs(measure({"pair", "--count", "100"}, "unix:" + server.socket() + "?db=2&password=" + escaped),
               100);
}

TEST_F(bench_on_redis, over_tls_nothing_is_claimed) {
  const redis_server server{{.tls = true}};
  EXPECT_FALSE(measure({"pair", "--count", "50"}, server.tls_url()).contains("store_commands_per_s"));
}

TEST_F(bench_on_redis, a_hand_over_is_a_place_in_the_queue_a_release_and_a_look) {
  const redis_server server;
  const auto measured =
      measure({"handoff", "--processes", "2", "--concurrency", "4", "--count", "2000"}, server.url());
  // The look confirms the notification of the grant. Those that still wait when it ends have taken their
  // places too. A claim that comes when nobody waits takes two commands: there are enough contenders that
  // some wait while a machine keeps others from running.
  EXPECT_THAT(measured["store_commands_per_handoff"].get<double>(), AllOf(Ge(2.99), Le(3.01)));
}

TEST_F(bench_on_redis, a_contender_who_cannot_come_ends_it) {
  const redis_server server{{.lines = {"maxclients 3"}}};  // one of which is the test's own
  const auto said =
      holdfast({"bench", "handoff", "--processes", "2", "--concurrency", "2", "--store", server.url()});
  EXPECT_EQ(said.status, 69) << said.out;
  EXPECT_THAT(said.err, testing::HasSubstr("max number of clients reached"));
  EXPECT_THAT(said.err, testing::HasSubstr("there is no figure"));
}

TEST_F(bench_on_redis, waiting_is_counted_too) {
  const redis_server server;
  const auto measured = measure({"idle", "--count", "50", "--ttl", "9s", "--duration", "4s"}, server.url());
  EXPECT_THAT(measured["store_commands_per_s"].get<double>(), Gt(0)) << "waiters keep their places";
}

}  // namespace
}  // namespace holdfast::test
