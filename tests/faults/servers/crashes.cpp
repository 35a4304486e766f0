// SPDX-License-Identifier: Apache-2.0
// A server that is killed, restarted and stopped under those who hold and those who wait.

#include "faults/servers/servers.hpp"
#include "support/amount.hpp"

namespace holdfast::faults {
namespace {

/// A client that holds the lock, and another process that waits for it, whatever becomes of the server.
struct holder_and_waiter {
  explicit holder_and_waiter(const std::string& url, std::chrono::milliseconds ttl = 30s)
      : locks{url},
        waiter{start(url, "retry=60000")},
        held{mutex{locks, "stock", lock_options{}.ttl(ttl)}.acquire()} {
    waiter->tell("hold stock retry=60000 ttl=" + std::to_string(ttl.count()));
    await([&] { return !locks.inspect("stock").value_or(lock_state{}).waiters.empty() || !held.held(); },
          "nobody waits");
    EXPECT_TRUE(held.held());
  }

  client locks;
  std::unique_ptr<actor> waiter;  // connected before anything is held: a brief ttl is for the test alone
  lease held;
  fencing_token first = held.token();
  loss loss_signal{held};
};
/// Of a lease that is to be lost, but not before the test is ready for it.
constexpr auto brief = 3s;

template <class Server>
class in_crashes : public on_each<Server> {
 protected:
  in_crashes() : on_each<Server>{{.durable = true}} {}

  /// Somebody holds and somebody waits; it goes down and comes back; all is as it was, and goes on.
  void expect_nothing_lost(const std::function<void()>& down) {
    holder_and_waiter pair{this->url()};
    auto& [locks, waiter, held, first, loss_signal] = pair;
    const auto seen = locks.inspect("stock");

    down();
    const auto failed = failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
    EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::unknown_outcome) << failed.text;
    this->server_->start();
    EXPECT_EQ(renew(held), renewal::renewed);
    EXPECT_FALSE(mutex(locks, "stock", patient()).try_lock());
    EXPECT_EQ(locks.inspect("stock")->waiters.size(), 1U) << "its place is lost";
    EXPECT_EQ(locks.inspect("stock")->holders[0].token, seen->holders[0].token);
    EXPECT_FALSE(held.release());
    EXPECT_GT(hear_token(*waiter), first);
    EXPECT_EQ(waiter->ask("release"), "released");
  }
};

class server_crashes : public in_crashes<server> {};

TEST_P(server_crashes, with_all_on_the_disk_cost_nobody_anything) {
  expect_nothing_lost([&] { server_->kill(); });
}

// A store may keep a release for a moment before it is on the disk; what comes back of it ends with its ttl.
TEST_P(server_crashes, right_after_a_release_leave_the_name_to_the_next_one) {
  client locks{url()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(2s)}.acquire();
  const auto first = held.token();
  EXPECT_FALSE(held.release());
  server_->kill();
  server_->start();
  client others{url()};
  const auto next = mutex{others, "stock", patient()}.try_acquire_for(60s);
  ASSERT_TRUE(next);
  EXPECT_GT(next->token(), first);
  EXPECT_EQ(held.release(), errc::not_owner) << "it was released, whatever the server knows of it";
}

TEST_P(server_crashes, again_and_again_under_contention_let_no_two_in) {
  const int crashes = test::amount(2, 4);
  contending_actors all{url(), 15 * crashes, " ttl=6000 retry=60000"};
  for (std::int64_t wanted = 30; wanted <= 30 * crashes; wanted += 30) {
    all.await(wanted);
    server_->kill();
    server_->start();
  }
  all.expect_order();
}

TEST_P(server_crashes, stopped_for_longer_than_the_ttl_it_is_left_in_time_and_found_again) {
  despite_stalls(brief, [&](std::chrono::milliseconds ttl) {
    holder_and_waiter pair{url(), ttl};
    auto& [locks, waiter, held, first, loss_signal] = pair;
    server_->stop();
    loss_signal.expect_told();  // while nobody else can be let in
    EXPECT_FALSE(held.held());
    server_->go_on();
    EXPECT_GT(hear_token(*waiter), first);
    EXPECT_EQ(held.release(), errc::lost);
    EXPECT_EQ(waiter->ask("release"), "released");
    mutex again{locks, "stock"};
    EXPECT_TRUE(again.try_lock_for(60s));
    again.unlock();
  });
}

TEST_P(server_crashes, that_last_longer_than_the_ttl_cost_the_lease_at_its_deadline) {
  const test::stall_meter meter;
  despite_stalls(brief, [&](std::chrono::milliseconds ttl) {
    holder_and_waiter pair{url(), ttl};
    auto& [locks, waiter, held, first, loss_signal] = pair;
    server_->kill();
    const auto deadline = held.deadline();  // what it knew when the server was gone
    loss_signal.expect_by(deadline, meter);
    EXPECT_FALSE(held.held());
    server_->start();
    EXPECT_GT(hear_token(*waiter), first);
    EXPECT_EQ(held.release(), errc::lost);
  });
}

HOLDFAST_ON_EACH_SERVER(server_crashes, server_kinds,
                        [](const server_kind& kind) { return !kind.keeps_sessions; });

class server_crashes_that_lose_everything : public on_each_server {};

TEST_P(server_crashes_that_lose_everything, lose_the_lease_and_give_the_next_a_higher_token) {
  despite_stalls(brief, [&](std::chrono::milliseconds ttl) {
    holder_and_waiter pair{url(), ttl};
    auto& [locks, waiter, held, first, loss_signal] = pair;
    server_->kill();
    server_->start_empty();
    EXPECT_GT(hear_token(*waiter), first);
    loss_signal.expect_told();
    EXPECT_FALSE(held.held());
  });
}

HOLDFAST_ON_EACH_SERVER(server_crashes_that_lose_everything, server_kinds,
                        [](const server_kind& kind) { return !kind.keeps_sessions && kind.can_start_empty; });

class database_restarts : public in_crashes<database> {};

TEST_P(database_restarts, on_purpose_cost_nobody_anything) {
  expect_nothing_lost([&] { server_->shut_down(); });
}

HOLDFAST_ON_EACH_SERVER(database_restarts, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
