// Sessions that are killed under those who hold and those who wait, and clients that stand still.

#include <csignal>
#include <thread>

#include "faults/faults.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::faults {
namespace {

using test::mariadb_server;

class mariadb_crashes : public testing::Test {
 protected:
  mariadb_server server;
};

TEST_F(mariadb_crashes, of_all_sessions_at_once_cost_nobody_anything) {
  client locks{server.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(server.url());
  waiter->tell("hold stock");
  expect_waiter(locks);
  for (int round = 0; round < 5; ++round) {
    server.ask("KILL HARD USER holdfast");
    EXPECT_EQ(renew(held), renewal::renewed);
  }
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
}

/// What a client that stands still had asked for was carried out in one transaction: no row stays locked with
/// it.
TEST_F(mariadb_crashes, of_a_client_that_stands_still_hold_up_only_what_it_holds) {
  client locks{server.url()};
  constexpr int pauses = 30;
  for (int i = 0; i < pauses; ++i) {
    const auto other = start(server.url());
    other->tell("hold stock ttl=500");
    std::this_thread::sleep_for(std::chrono::microseconds{i * 150});  // wherever that finds it
    other->send(SIGSTOP);
    EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(20s)) << i;
    other->kill();
  }
}

}  // namespace
}  // namespace holdfast::faults
