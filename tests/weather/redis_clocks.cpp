// The server's wall clock, by which its keys expire, is set under those who hold.

#include <future>

#include "support/redis_server.hpp"
#include "weather/weather.hpp"

namespace holdfast::weather {
namespace {

class redis_clocks : public testing::Test {
 protected:
  test::redis_server server_{{.own_clock = true}};
  client one_{server_.url()};
  client two_{server_.url()};
};

TEST_F(redis_clocks, set_back_or_forward_leave_tokens_rising) {
  mutex lock{one_, "stock"};
  fencing_token last;
  for (const auto ahead : {0h, -48h, 48h, 47h, -87'600h, 0h}) {
    server_.set_clock(ahead);
    for (int turn = 0; turn < 3; ++turn) {
      auto held = lock.acquire();
      EXPECT_GT(held.token(), last) << ahead.count();
      last = held.token();
      EXPECT_FALSE(held.release());
    }
  }
}

TEST_F(redis_clocks, set_by_less_than_the_ttl_let_nobody_in) {
  auto held = mutex{one_, "stock", lock_options{}.ttl(60s)}.acquire();
  for (const auto ahead : {-3600s, -30s, 0s, 30s}) {
    server_.set_clock(ahead);
    EXPECT_FALSE(mutex(two_, "stock").try_lock()) << ahead.count();
  }
  EXPECT_TRUE(held.held());
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
}

TEST_F(redis_clocks, set_forward_by_more_end_the_lease_and_say_so) {
  auto held = mutex{one_, "stock", lock_options{}.ttl(900ms)}.acquire();
  std::promise<void> lost;
  held.on_lost([&](std::error_code) { lost.set_value(); });
  server_.set_clock(1h);
  const auto next = mutex{two_, "stock"}.acquire();
  EXPECT_GT(next.token(), held.token());
  EXPECT_EQ(lost.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_TRUE(next.held());
}

}  // namespace
}  // namespace holdfast::weather
