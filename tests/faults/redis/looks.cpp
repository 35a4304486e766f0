// What a look costs a server: never in proportion to what lies there.

#include <algorithm>
#include <cstddef>
#include <string>

#include "faults/faults.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

class redis_looks : public testing::Test {
 protected:
  /// Claims of processes that are no longer there, as they stand in the queue of a name. They end in an hour.
  void queue(const std::string& name, std::size_t count, const std::string& label = "reindex") {
    const std::string side = "{holdfast:" + name + "}\x1f";
    const char* const script = R"(
      local clock = redis.call('TIME')
      local micros = clock[1] * 1000000 + clock[2]
      for i = 1, tonumber(ARGV[1]) do
        local token, owner = string.format('%020.0f', micros + i), string.format('%032x', i)
        redis.call('ZADD', KEYS[1], token,
          table.concat({ token, owner, token, string.rep('c', 32), 1073741824, 1073741824, 3600000, ARGV[2] }, ' '),
          '-' .. token, owner, string.format('-%.0f', micros / 1000 + 3600000), 'end ' .. owner)
      end
      redis.call('SET', KEYS[2], string.format('%020.0f others', micros + ARGV[1])))";
    const std::string metadata = R"({"host":"alpha","pid":7,"program":"worker","label":")" + label + "\"}";
    const std::string answer =
        server_.ask({"EVAL", script, "2", side + "waiters", side + "fence", std::to_string(count), metadata});
    ASSERT_EQ(answer, "(nil)") << "what a script without a result returns";
  }
  /// The bytes of the server's answers meanwhile, and the scripts that it has carried out.
  struct cost {
    std::size_t bytes = 0;
    std::int64_t calls = 0;
  };
  template <class Call>
  cost cost_of(Call call) {
    (void)locks_.inspect("another", 0);  // it is connected, and the server knows the script
    EXPECT_EQ(server_.ask({"CONFIG", "RESETSTAT"}), "OK");
    const std::size_t before = proxy_.passed(test::direction::to_client);
    call();
    return {proxy_.passed(test::direction::to_client) - before, calls("eval") + calls("evalsha")};
  }
  std::int64_t calls(const std::string& command) {
    const std::string all = server_.ask({"INFO", "commandstats"});
    const std::string start = "cmdstat_" + command + ":calls=";
    const auto at = all.find(start);
    return at == std::string::npos ? 0 : std::stoll(all.substr(at + start.size()));
  }

  static constexpr std::size_t longest_part = 300'000;
  test::redis_server server_;
  test::fault_proxy proxy_{server_.port()};
  client locks_{"redis://127.0.0.1:" + std::to_string(proxy_.port()) + "?failover_guard=0"};
};

TEST_F(redis_looks, at_the_holder_alone_read_no_queue) {
  queue("stock", 20'000);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock", 0); });
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->waiters.empty());
  EXPECT_EQ(of.calls, 1);
  EXPECT_LT(of.bytes, 1000U);
}

TEST_F(redis_looks, read_the_first_waiters_that_were_asked_for) {
  queue("stock", 20'000);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock", 100); });
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->waiters.size(), 100U);
  EXPECT_EQ(seen->waiters.front().owner, std::string(31, '0') + "1");
  EXPECT_LT(of.bytes, 50'000U);
}

TEST_F(redis_looks, read_a_long_queue_in_parts) {
  queue("stock", 10'000);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock"); });
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->waiters.size(), 10'000U) << "each once";
  EXPECT_TRUE(std::is_sorted(seen->waiters.begin(), seen->waiters.end(),
                             [](const auto& a, const auto& b) { return a.token < b.token; }));
  EXPECT_GE(of.calls, 10'000 / 128);
}

TEST_F(redis_looks, read_long_texts_in_smaller_parts) {
  queue("stock", 400, std::string(20'000, 'x'));
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock"); });
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->waiters.size(), 400U);
  ASSERT_GT(of.calls, 1);
  EXPECT_LT(of.bytes / static_cast<std::size_t>(of.calls), 2 * longest_part);
}

TEST_F(redis_looks, of_a_listing_count_queues_and_do_not_read_them) {
  constexpr std::size_t names = 64;
  for (std::size_t i = 0; i < names; ++i) queue("queue-" + std::to_string(i), 500 + i);
  ASSERT_EQ(server_.ask({"SETRANGE", "holdfast:foreign", "40000000", "x"}), "40000001");
  std::vector<lock_summary> all;
  const cost of = cost_of([&] { all = locks_.list(); });
  ASSERT_EQ(all.size(), names + 1);
  for (const lock_summary& each : all) {
    if (each.name == "foreign") continue;
    EXPECT_EQ(each.waiters, 500 + std::stoull(each.name.substr(6))) << each.name;
  }
  EXPECT_LT(of.bytes, 100'000U);
  EXPECT_LT(cost_of([&] { (void)locks_.inspect("foreign"); }).bytes, 50'000U);
}

TEST_F(redis_looks, do_not_count_claims_that_have_ended) {
  const auto held = mutex{locks_, "stock"}.acquire();
  queue("stock", 3);
  const std::string side = "{holdfast:stock}\x1f";
  // The first of them ended a minute ago.
  const std::string a_minute_ago =
      "-" +
      std::to_string(std::stoll(server_.ask({"EVAL", "return redis.call('TIME')[1]", "0"})) * 1000 - 60'000);
  ASSERT_EQ(server_.ask({"ZADD", side + "waiters", a_minute_ago, "end " + std::string(31, '0') + "1"}), "0");
  const auto all = locks_.list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].holders, 1U);
  EXPECT_EQ(all[0].holder_token, held.token());
  EXPECT_EQ(all[0].waiters, 2U);
  const auto seen = locks_.inspect("stock", 1);
  ASSERT_EQ(seen->waiters.size(), 1U) << "one that has ended is not the first";
  EXPECT_EQ(seen->waiters[0].owner, std::string(31, '0') + "2");
}

}  // namespace
}  // namespace holdfast::faults
