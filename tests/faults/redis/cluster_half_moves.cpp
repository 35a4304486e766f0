// SPDX-License-Identifier: Apache-2.0
// A slot of a Redis Cluster that is on its way for long: some of a lock's keys are at one server, and some at
// the other one. Neither carries out a request for all of them (TRYAGAIN).

#include <array>
#include <future>
#include <string>
#include <vector>

#include "faults/redis/cluster.hpp"
#include "support/amount.hpp"

namespace holdfast::faults {
namespace {

class redis_cluster_half_moves : public on_cluster {
 protected:
  redis_cluster_half_moves() : on_cluster{primaries()} {}

  void begin() {
    slot_ = slot_of("stock");
    to_ = (nodes_.owner_of(slot_) + 1) % 3;
    nodes_.begin_move(slot_, to_);
  }
  /// For several renewals with so many keys at the other server, one more each time, and at last all of them.
  void expect_renewals_of(const std::vector<const lease*>& all) {
    std::size_t moved = 1;
    for (int step = 0; moved != 0; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      await_renewals(*all.front(), test::amount(2, 9));
      // Meanwhile the others are renewed as well.
      for (std::size_t each = 1; each < all.size(); ++each) await_renewals(*all[each], 1);
      moved = nodes_.move_keys(slot_, to_, 1);
    }
  }
  void end() {
    while (nodes_.move_keys(slot_, to_, 100) > 0) continue;
    nodes_.end_move(slot_, to_);
  }
  void expect_to_outlive_the_move(lease& one, lease& other) {
    begin();
    expect_renewals_of({&one, &other});
    end();
    for (lease* each : {&one, &other}) EXPECT_EQ(renew(*each), renewal::renewed);
    expect_holders("stock", {one.token(), other.token()});
  }

  static constexpr auto brief = 3s;
  int slot_ = 0;
  std::size_t to_ = 0;
};

TEST_F(redis_cluster_half_moves, end_no_exclusive_hold) {
  despite_stalls(brief, [&](std::chrono::milliseconds length) {
    client locks{nodes_.url()};
    client others{nodes_.url()};
    auto held = mutex{locks, "stock", renewed(length)}.acquire();
    auto waiter =
        std::async(std::launch::async, [&] { return mutex{others, "stock", renewed(length)}.acquire(); });
    expect_waiter(locks);
    begin();
    expect_renewals_of({&held});
    end();
    expect_known(held);
    const auto token = held.token();
    expect_released(held);
    auto next = waiter.get();
    EXPECT_GT(next.token(), token);
    expect_released(next);
  });
}

TEST_F(redis_cluster_half_moves, end_no_shared_holds) {
  despite_stalls(brief, [&](std::chrono::milliseconds length) {
    std::array<client, 2> locks{client{nodes_.url()}, client{nodes_.url()}};
    auto one = shared_mutex{locks[0], "stock", renewed(length)}.acquire_shared();
    auto other = shared_mutex{locks[1], "stock", renewed(length)}.acquire_shared();
    expect_to_outlive_the_move(one, other);
    expect_released(one);
    EXPECT_FALSE(mutex(locks[0], "stock", lasting()).try_lock());
    expect_released(other);
    EXPECT_TRUE(mutex(locks[0], "stock", lasting()).try_lock());
  });
}

TEST_F(redis_cluster_half_moves, end_no_permits) {
  despite_stalls(brief, [&](std::chrono::milliseconds length) {
    std::array<client, 2> locks{client{nodes_.url()}, client{nodes_.url()}};
    auto one = counting_semaphore{locks[0], "stock", 4, renewed(length)}.acquire_permits(2);
    auto other = counting_semaphore{locks[1], "stock", 4, renewed(length)}.acquire_permits(1);
    expect_to_outlive_the_move(one, other);
    counting_semaphore more{locks[0], "stock", 4, lasting()};
    EXPECT_FALSE(more.try_acquire_permits(2));
    expect_released(one);
    expect_released(other);
  });
}

// Who claims a name meanwhile waits for the end of the move.
TEST_F(redis_cluster_half_moves, are_waited_for_by_claims) {
  client locks{nodes_.url()};
  static_cast<void>(mutex{locks, "stock", lasting()}.acquire());
  begin();
  auto granted = std::async(std::launch::async, [&] { return mutex{locks, "stock", lasting()}.acquire(); });
  auto fresh = std::async(std::launch::async,
                          [&] { return mutex{locks, beside("stock", "fresh"), lasting()}.acquire(); });
  EXPECT_EQ(known_failure_of([&] { (void)mutex(locks, "stock", hasty()).try_lock(); }).code,
            errc::unavailable);
  end();
  expect_known(*std::make_unique<lease>(granted.get()));
  expect_known(*std::make_unique<lease>(fresh.get()));
}

}  // namespace
}  // namespace holdfast::faults
