// Sessions that break down, or that an operator ends, under those who hold and those who wait.

#include "faults/postgresql/on_postgresql.hpp"
#include "support/witness.hpp"

namespace holdfast::faults {
namespace {

class postgresql_crashes : public on_postgresql {
 protected:
  postgresql_crashes() : on_postgresql{{.durable = true}} {}
};

TEST_F(postgresql_crashes, of_one_backend_restart_all_and_cost_nobody_anything) {
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

class postgresql_sessions : public on_postgresql {};

TEST_F(postgresql_sessions, ended_by_an_operator_cost_a_holder_nothing) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  for (int turn = 0; turn < 5; ++turn) {
    await([&] { return sessions() == 1; }, "the former one is still there");
    EXPECT_EQ(terminate_all(), 1);
    EXPECT_EQ(renew(held), renewal::renewed);
  }
  EXPECT_FALSE(held.release());
  expect_free();
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

TEST_F(postgresql_sessions, ended_again_and_again_under_contention_let_no_two_in) {
  const test::scratch_folder folder;
  const test::witness witness{folder.file("witness")};
  constexpr int turns = 80;
  std::vector<std::unique_ptr<actor>> clients;
  for (int each = 0; each < 3; ++each) {
    clients.push_back(start(server_.url()));
    clients.back()->tell("contend stock " + folder.file("witness") + ' ' + std::to_string(turns) +
                         " ttl=6000");
  }
  for (std::int64_t wanted = 10; wanted <= 3 * turns - 20; wanted += 10) {
    comes_true([&] { return witness.count() >= wanted; }, 20s);
    terminate_all();
  }
  for (const auto& each : clients) EXPECT_EQ(hear_answer(*each), "contended");
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.fragile_count(), turns * 3);
  clients.clear();
  expect_free();
}

}  // namespace
}  // namespace holdfast::faults
