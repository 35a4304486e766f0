// SPDX-License-Identifier: Apache-2.0
// Sessions at a database that an operator ends under those who hold and those who wait.

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

class database_sessions : public on_each_database {};

TEST_P(database_sessions, ended_by_an_operator_cost_nobody_anything) {
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(url());
  waiter->tell("hold stock");
  expect_waiter(locks);
  for (int turn = 0; turn < 5; ++turn) {
    await([&] { return server_->sessions() >= 2; }, "the former ones have no successors");
    server_->end_sessions();
    EXPECT_EQ(renew(held), renewal::renewed);
  }
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
  EXPECT_EQ(waiter->ask("release"), "released");
  expect_free();
}

TEST_P(database_sessions, ended_again_and_again_under_contention_let_no_two_in) {
  constexpr int turns = 80;
  // A hand-over whose notification went to a session of its own that was ended waits for the next look.
  const int between = GetParam().connections == 1 ? 10 : 60;
  contending_actors all{url(), turns, hurry()};
  for (std::int64_t wanted = between; wanted <= 3 * turns - 20; wanted += between) {
    all.await(wanted);
    server_->end_sessions();
  }
  all.expect_order();
  expect_free();
}

HOLDFAST_ON_EACH_SERVER(database_sessions, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
