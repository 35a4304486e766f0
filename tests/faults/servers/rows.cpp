// SPDX-License-Identifier: Apache-2.0
// What lies in the tables of a busy name, and is read there.

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

class database_rows : public on_each_database {
 protected:
  /// Where searches for claims begin.
  std::uint64_t oldest() {
    return static_cast<std::uint64_t>(server_->number("SELECT oldest FROM holdfast_locks"));
  }
};

// Servers clear deleted rows away when they get to it. A name that is locked in a loop has hundreds of them.
TEST_P(database_rows, of_former_claims_are_passed_by) {
  client locks{url()};
  shared_mutex lock{locks, "stock"};
  auto first = lock.acquire_shared();
  EXPECT_EQ(oldest(), first.token().value());
  auto second = lock.acquire_shared();
  EXPECT_EQ(oldest(), first.token().value()) << "which is still held";
  EXPECT_FALSE(first.release());
  auto third = lock.acquire_shared();
  EXPECT_EQ(oldest(), second.token().value());
  EXPECT_FALSE(second.release());
  EXPECT_FALSE(third.release());
  auto alone = lock.acquire();
  EXPECT_EQ(oldest(), alone.token().value());
}

// A store that was put back may know the claim, and not that it was granted. Others would see two leaders.
TEST_P(database_rows, of_claims_that_wait_take_no_value_of_a_leader) {
  client locks{url()};
  auto leads = election{locks, "stock", lock_options{}.renewal(false).ttl(1h)}.campaign("before");
  const auto rows_with = [&](const std::string& value) {
    return server_->number("SELECT count(*) FROM holdfast_locks_claims WHERE metadata LIKE '%" + value +
                           "%'");
  };
  leads.proclaim("while it holds");
  EXPECT_EQ(rows_with("while it holds"), 1);
  server_->execute("UPDATE holdfast_locks SET granted = granted - 1");
  EXPECT_EQ(failure_of([&] { leads.proclaim("while it waits"); }).code, errc::lost);
  EXPECT_EQ(rows_with("while it waits"), 0);  // the client is giving the claim back, which it has lost
}

TEST_P(database_rows, of_waiters_are_found_whoever_holds_and_gives_up_before_them) {
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(url());
  waiter->tell("hold stock");
  expect_waiter(locks);
  EXPECT_FALSE(mutex(locks, "stock").try_acquire_for(3s)) << "a place behind it, given up";
  EXPECT_EQ(oldest(), held.token().value());
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  const auto token = hear_token(*waiter);
  EXPECT_GT(token, held_token);
  EXPECT_FALSE(mutex(locks, "stock").try_lock()) << "it holds";
  EXPECT_EQ(waiter->ask("release"), "released");
  const auto next = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(oldest(), next.token().value());
}

TEST_P(database_rows, of_the_dead_are_gone_once_they_are_passed_by) {
  client locks{url()};
  mutex lock{locks, "stock"};
  const auto expect_one = [&](const lease& of) {
    EXPECT_LE(oldest(), of.token().value());
    EXPECT_EQ(server_->claims(), 1);
  };
  const auto brief = mutex{locks, "stock", lock_options{}.ttl(300ms).renewal(false)}.acquire();
  auto after_the_dead = lock.acquire();
  expect_one(after_the_dead);

  EXPECT_EQ(locks.force_release("stock"), 1U);
  auto after_force = lock.acquire();
  expect_one(after_force);
  EXPECT_FALSE(after_force.release());

  const auto victim = start(url("?mode=session"));
  victim->hold("stock");
  victim->kill();
  const auto after_its_session = lock.acquire();
  expect_one(after_its_session);
}

// As documented, of a row that somebody has deleted by hand: its holder loses the name, and nobody holds
// beside it.
TEST_P(database_rows, that_are_deleted_under_a_holder_cost_it_the_name) {
  client locks{url()};
  client others{url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto first = held.token();
  server_->execute("DELETE FROM holdfast_locks");
  mutex next{others, "stock"};
  EXPECT_FALSE(next.try_lock()) << "beside one who knows of nothing";
  EXPECT_EQ(held.renew(), renewal::lost);
  const auto got = next.acquire();
  EXPECT_GT(got.token(), first);
}

// One row that an operator or a stray transaction keeps locked.
TEST_P(database_rows, that_somebody_keeps_locked_cost_no_lease_but_theirs) {
  client locks{url()};
  std::vector<lease> held;
  for (int i = 0; i < 10; ++i) {
    held.push_back(mutex{locks, "name " + std::to_string(i), lock_options{}.ttl(6s)}.acquire());
  }
  loss loss_signal{held[3]};
  const auto other = server_->connect();
  EXPECT_EQ(other("BEGIN"), "");
  EXPECT_EQ(other("SELECT token FROM holdfast_locks WHERE name = 'name 3' FOR UPDATE"),
            std::to_string(held[3].token().value()));
  loss_signal.expect_told();
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (i == 3) continue;
    EXPECT_EQ(renew(held[i]), renewal::renewed) << i;
  }
  EXPECT_EQ(other("ROLLBACK"), "");
}

HOLDFAST_ON_EACH_SERVER(database_rows, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
