// SPDX-License-Identifier: Apache-2.0
// What bench makes a Redis server do, by the server's own counters.

#include <array>
#include <gmock/gmock.h>
#include <sstream>

#include "fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

/// The server counts what scripts call like what clients send. Holdfast's scripts call none of these.
bool sent_by_client(std::string_view command) {
  constexpr std::array<std::string_view, 13> sent{
      "eval",  "fcall",  "subscribe", "ssubscribe", "ping", "unsubscribe", "sunsubscribe",
      "hello", "select", "client",    "script",     "wait", "scan"};
  return std::ranges::any_of(sent, [&](std::string_view each) { return command.starts_with(each); });
}

struct command_counts {
  double sent = 0;         ///< by clients
  double carried_out = 0;  ///< those that scripts called included
};

/// Since the server started, of lines such as "cmdstat_evalsha:calls=3,usec=…".
command_counts counts_of(redis_server& server) {
  command_counts counts;
  std::istringstream lines{server.ask({"INFO", "commandstats"})};
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view prefix = "cmdstat_";
    constexpr std::string_view calls = ":calls=";
    const auto at = line.find(calls);
    if (!line.starts_with(prefix) || at == std::string::npos) continue;
    const auto count = std::stod(line.substr(at + calls.size()));
    counts.carried_out += count;
    if (sent_by_client(std::string_view{line}.substr(prefix.size()))) counts.sent += count;
  }
  return counts;
}

class bench_on_redis : public command_test {
 protected:
  json measure(strings arguments, const std::string& url) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"--json", "--store", url});
    const auto said = holdfast(arguments);
    EXPECT_EQ(said.status, 0) << said.err;
    const auto lines = parse_lines(said.out);
    EXPECT_EQ(lines.size(), 1U);
    return lines.empty() ? json{} : lines.front();
  }

  /// What a long run makes the server do more than a short one. The start and the end of a run cost the same
  /// in both, so that the difference is free of them.
  struct growth {
    command_counts commands;
    double figure = 0;  ///< the difference of one of the figures
  };
  growth growth_of(redis_server& server, const std::string& url, const strings& arguments,
                   const std::string& figure, int short_count, int long_count) {
    const auto with_count = [&](int count) {
      auto all = arguments;
      all.insert(all.end(), {"--count", std::to_string(count)});
      return measure(all, url)[figure].get<double>();
    };
    const auto at_first = counts_of(server);
    const auto short_figure = with_count(short_count);
    const auto between = counts_of(server);
    const auto long_figure = with_count(long_count);
    const auto at_last = counts_of(server);
    return {{at_last.sent - 2 * between.sent + at_first.sent,
             at_last.carried_out - 2 * between.carried_out + at_first.carried_out},
            long_figure - short_figure};
  }

  double calls_of_a_hand_over(redis_server& server, const std::string& processes,
                              const std::string& concurrency) {
    const auto more =
        growth_of(server, server.url(), {"handoff", "--processes", processes, "--concurrency", concurrency},
                  "grants", 250, 1250);
    return more.commands.carried_out / more.figure;
  }

  /// Two: one command to acquire, one to release. The warm-up is one pair for ten. The last release of each
  /// run may come after the counting.
  void expect_pairs(redis_server& server, const std::string& url) {
    const auto more = growth_of(server, url, {"pair"}, "count", 100, 1100);
    const auto pairs = more.figure * 1.1;
    EXPECT_THAT(more.commands.sent / pairs, AllOf(Ge(2 - 4 / pairs), Le(2 + 4 / pairs)));
    // Two calls are the scripts themselves. They take: MGET TIME SET SET. They release: MGET DEL.
    EXPECT_THAT(more.commands.carried_out / pairs, AllOf(Ge(8 - 8 / pairs), Le(8 + 8 / pairs)));
  }
};

TEST_F(bench_on_redis, a_pair_is_two_commands_whatever_the_way_to_the_server) {
  redis_server plain;
  expect_pairs(plain, plain.url());
  redis_server locked{{.password = "se:cret@/%25"}};
  const std::string escaped = "se%3Acret%40%2F%2525";
  const auto port = std::to_string(locked.port());
  expect_pairs(locked, "redis://default:" + escaped + "@127.0.0.1:" + port + "/3?failover_guard=0");
  expect_pairs(locked, "unix:" + locked.socket() + "?db=2&failover_guard=0&password=" + escaped);
  redis_server hidden{{.tls = true}};
  expect_pairs(hidden, hidden.tls_url());
}

TEST_F(bench_on_redis, a_hand_over_is_a_place_in_the_queue_and_a_release) {
  redis_server server;
  const auto more = growth_of(server, server.url(), {"handoff", "--processes", "2", "--concurrency", "4"},
                              "grants", 500, 4500);
  // The notification proves the grant: with a look it would be three. The first that waits looks once a
  // second all the same, and on a slow machine that shows.
  EXPECT_THAT(more.commands.sent / more.figure, AllOf(Ge(1.99), Le(2.1)));
}

TEST_F(bench_on_redis, a_hand_over_is_seventeen_calls_in_the_server_at_most) {
  redis_server server;
  for (const auto& [processes, concurrency] : {std::pair{"2", "1"}, {"2", "2"}, {"4", "4"}})
    EXPECT_LE(calls_of_a_hand_over(server, processes, concurrency), 17) << processes << " x " << concurrency;
}

// Of scripts/hunt: two hundred need their time.
TEST_F(bench_on_redis, a_hand_over_is_seventeen_calls_in_the_server_at_most_however_many_wait) {
  redis_server server;
  EXPECT_LE(calls_of_a_hand_over(server, "4", "50"), 17);
}

TEST_F(bench_on_redis, a_contender_who_cannot_come_ends_it) {
  const redis_server server{{.lines = {"maxclients 3"}}};  // one of which is the test's own
  const auto said =
      holdfast({"bench", "handoff", "--processes", "2", "--concurrency", "2", "--store", server.url()});
  EXPECT_EQ(said.status, 69) << said.out;
  EXPECT_THAT(said.err, testing::HasSubstr("max number of clients reached"));
  EXPECT_THAT(said.err, testing::HasSubstr("there are no figures"));
}

TEST_F(bench_on_redis, says_once_what_keeps_its_contenders_from_the_lock) {
  const redis_server server;
  const strings store{"--store", server.guarded_url("?failover_guard=2s")};  // shorter than the ttl
  for (const strings& scenario :
       {strings{"handoff", "--processes", "4", "--concurrency", "4"}, {"spread"}, {"held"}}) {
    strings command{"bench"};
    command.insert(command.end(), scenario.begin(), scenario.end());
    command.insert(command.end(), store.begin(), store.end());
    const auto said = holdfast(command);
    EXPECT_EQ(said.status, 64) << said.out;
    const std::string cause = "is longer than the failover_guard of 2s";
    const auto first = said.err.find(cause);
    EXPECT_NE(first, std::string::npos) << scenario.front() << ": " << said.err;
    EXPECT_EQ(said.err.find(cause, first + 1), std::string::npos) << scenario.front() << ": " << said.err;
  }
}

TEST_F(bench_on_redis, waiters_keep_their_places_with_commands) {
  redis_server server;
  const auto waiting =
      start({"bench", "idle", "--count", "50", "--ttl", "9s", "--duration", "60s", "--store", server.url()});
  const auto queued = [&] {
    const auto shown = holdfast({"ls", "--json", "--store", server.url()});
    const auto locks = parse_lines(shown.out);
    return locks.size() == 1 && locks.front()["waiters"] == 50;
  };
  ASSERT_TRUE(eventually(queued)) << waiting->err();
  const auto at_first = counts_of(server);
  EXPECT_TRUE(eventually([&] { return counts_of(server).sent >= at_first.sent + 50; }));
  EXPECT_TRUE(waiting->running());
  waiting->signal(SIGTERM);
  waiting->wait();
}

}  // namespace
}  // namespace holdfast::test
