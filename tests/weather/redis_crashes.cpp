// A server that is killed, restarted and stopped under those who hold and those who wait.

#include <future>
#include <thread>

#include "support/redis_server.hpp"
#include "support/witness.hpp"
#include "weather/weather.hpp"

namespace holdfast::weather {
namespace {

using test::redis_server;

class redis_crashes : public testing::Test {
 protected:
  static std::unique_ptr<actor> start(const redis_server& server) {
    auto other = std::make_unique<actor>();
    EXPECT_EQ(other->ask("open " + server.url()), "open");
    return other;
  }
  static void expect_waiter(const client& locks) {
    while (locks.inspect("stock").value_or(lock_state{}).waiters.empty()) std::this_thread::yield();
  }
};

TEST_F(redis_crashes, that_lose_everything_lose_the_lease_and_give_the_next_a_higher_token) {
  redis_server server;
  client locks{server.url()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(1s)}.acquire();
  const auto first = held.token();
  std::promise<boot_clock::time_point> lost;
  held.on_lost([&](std::error_code) { lost.set_value(boot_clock::now()); });
  const auto waiter = start(server);
  waiter->tell("hold stock");
  expect_waiter(locks);

  server.kill();
  const auto deadline = held.deadline();  // what it knew when the server was gone
  server.start_empty();
  EXPECT_GT(token_in(hear_answer(*waiter)), first);
  auto told = lost.get_future();
  ASSERT_EQ(told.wait_for(60s), std::future_status::ready);
  EXPECT_LE(told.get(), deadline + 250ms);
  EXPECT_FALSE(held.held());
}

TEST_F(redis_crashes, with_all_on_the_disk_cost_nobody_anything) {
  redis_server server{{.append_only = true}};
  client locks{server.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(server);
  waiter->tell("hold stock");
  expect_waiter(locks);

  server.kill();
  server.start();
  auto answer = held.renew();
  while (answer == renewal::unknown) answer = held.renew();  // not connected again yet
  EXPECT_EQ(answer, renewal::renewed);
  EXPECT_FALSE(mutex(locks, "stock").try_lock());
  expect_waiter(locks);
  EXPECT_FALSE(held.release());
  EXPECT_GT(token_in(hear_answer(*waiter)), held.token());
}

TEST_F(redis_crashes, again_and_again_under_a_crowd_let_no_two_in) {
  redis_server server{{.append_only = true}};
  const test::scratch_folder folder;
  const test::witness witness{folder.file("witness")};
  constexpr int turns = 100;
  std::vector<std::unique_ptr<actor>> crowd;
  for (int each = 0; each < 3; ++each) {
    crowd.push_back(start(server));
    crowd.back()->tell("crowd stock " + folder.file("witness") + ' ' + std::to_string(turns) +
                       " ttl=1500");  // a word that is lost with the server costs a third of that
  }
  for (std::int64_t wanted = 50; wanted <= 200; wanted += 50) {
    // One who failed takes no more turns, and says why below.
    const auto patience = boot_clock::now() + 20s;
    while (witness.count() < wanted && boot_clock::now() < patience) std::this_thread::yield();
    server.kill();
    server.start();
  }
  for (const auto& each : crowd) EXPECT_EQ(hear_answer(*each), "crowded");
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.fragile_count(), turns * 3);
}

TEST_F(redis_crashes, stopped_for_longer_than_the_ttl_it_is_left_in_time_and_found_again) {
  redis_server server;
  client locks{server.url()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(600ms)}.acquire();
  const auto first = held.token();
  std::promise<void> lost;
  held.on_lost([&](std::error_code reason) {
    EXPECT_EQ(reason, errc::lost);
    lost.set_value();
  });
  const auto waiter = start(server);
  waiter->tell("hold stock ttl=600");
  expect_waiter(locks);

  server.stop();
  ASSERT_EQ(lost.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_FALSE(held.held());
  server.go_on();
  EXPECT_GT(token_in(hear_answer(*waiter)), first);
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_EQ(waiter->ask("release"), "released");
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

}  // namespace
}  // namespace holdfast::weather
