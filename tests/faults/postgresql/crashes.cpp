// SPDX-License-Identifier: Apache-2.0
// Sessions that break down under those who hold, or are ended in the middle of a hand-over.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

class postgresql_sessions : public on_postgresql {};

TEST_F(postgresql_sessions, of_which_one_crashes_are_all_ended_and_cost_nobody_anything) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(server_.url());
  waiter->tell("hold stock retry=60000");
  expect_waiter(locks);
  const auto backend =
      server_.number("SELECT max(pid) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'");
  ASSERT_EQ(::kill(static_cast<::pid_t>(backend), SIGKILL), 0);
  EXPECT_EQ(renew(held), renewal::renewed);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
}

TEST_F(postgresql_sessions, ended_by_an_operator_leave_waiters_their_places_and_make_up_for_notifications) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(server_.url());
  waiter->tell("hold stock ttl=3600000");  // a look of its own would come after 20 minutes
  expect_waiter(locks);
  const auto place = server_.ask("SELECT max(token) FROM holdfast_locks_claims");
  // The hand-over and the end of the session in one step: the notification has nobody to go to.
  const auto owner =
      server_.ask("SELECT encode(owner, 'hex') FROM holdfast_locks_claims ORDER BY token LIMIT 1");
  EXPECT_EQ(server_.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE "
                        "'holdfast %';"
                        "SELECT done FROM holdfast_locks_release('stock', decode('" +
                        owner + "', 'hex'), " + std::to_string(held.token().value()) + ")"),
            "1");
  EXPECT_EQ(std::to_string(hear_token(*waiter).value()), place);
}

}  // namespace
}  // namespace holdfast::faults
