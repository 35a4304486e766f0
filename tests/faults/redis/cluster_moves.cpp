// SPDX-License-Identifier: Apache-2.0
// Slots of a Redis Cluster move, with their locks. Nobody who holds or waits notices.

#include <array>
#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "faults/redis/cluster.hpp"
#include "support/witness.hpp"

namespace holdfast::faults {
namespace {

class redis_cluster_moves : public on_cluster {
 protected:
  redis_cluster_moves() : on_cluster{primaries()} {}
};

TEST_F(redis_cluster_moves, end_no_exclusive_hold) {
  client locks{nodes_.url()};
  auto held = mutex{locks, "stock", renewed()}.acquire();
  const auto token = held.token();
  for (int i = 0; i < 3; ++i) {
    move("stock", (owner_of("stock") + 1) % 3);
    await_renewals(held);
    EXPECT_EQ(renew(held), renewal::renewed);
  }
  EXPECT_EQ(held.token(), token);
  EXPECT_FALSE(held.loss());
  expect_known(held);
  expect_released(held);
  const auto next = mutex{locks, "stock", lasting()}.try_acquire();
  ASSERT_TRUE(next);
  EXPECT_GT(next->token(), token);
}

/// Waiters of clients of their own, one after another.
class redis_cluster_waiters : public redis_cluster_moves {
 protected:
  static constexpr std::size_t count = 4;
  void begin_to_wait() {
    for (std::size_t i = 0; i < count; ++i) {
      waiting_.push_back(std::async(std::launch::async, [this, i] {
        auto held = mutex{clients_.at(i), "stock", notified()}.acquire();
        const auto token = held.token();
        expect_released(held);
        return token;
      }));
      await([&] { return waiters() == i + 1; }, "nobody waits");
    }
  }
  [[nodiscard]] std::size_t waiters() const {
    return clients_.back().inspect("stock").value_or(lock_state{}).waiters.size();
  }
  void expect_grants_in_order(fencing_token last) {
    for (auto& each : waiting_) {
      const fencing_token next = each.get();
      EXPECT_GT(next, last);
      last = next;
    }
    expect_holders("stock", {});
  }

  std::array<client, count + 1> clients_{client{nodes_.url()}, client{nodes_.url()}, client{nodes_.url()},
                                         client{nodes_.url()}, client{nodes_.url()}};
  std::vector<std::future<fencing_token>> waiting_;
};

TEST_F(redis_cluster_waiters, are_granted_in_order_after_a_move) {
  auto held = mutex{clients_.back(), "stock", lasting()}.acquire();
  begin_to_wait();
  move("stock", (owner_of("stock") + 1) % 3);
  EXPECT_EQ(waiters(), count);
  expect_released(held);
  expect_grants_in_order(held.token());
}

TEST_F(redis_cluster_waiters, are_granted_in_order_after_moves_there_and_back) {
  auto held = mutex{clients_.back(), "stock", lasting()}.acquire();
  begin_to_wait();
  const std::size_t home = owner_of("stock");
  for (const std::size_t to : {(home + 1) % 3, home, (home + 2) % 3, home}) move("stock", to);
  EXPECT_EQ(waiters(), count);
  expect_released(held);
  expect_grants_in_order(held.token());
}

// The slot is on its way when the name becomes free. Who waits has not looked yet where it is.
TEST_F(redis_cluster_waiters, are_granted_when_the_hold_ends_during_the_move) {
  auto held = mutex{clients_.back(), "stock", lasting()}.acquire();
  begin_to_wait();
  const int slot = slot_of("stock");
  const std::size_t to = (owner_of("stock") + 1) % 3;
  nodes_.begin_move(slot, to);
  EXPECT_GE(nodes_.move_keys(slot, to, 1), 1U);
  auto released = std::async(std::launch::async, [&] { return held.release(); });
  while (nodes_.move_keys(slot, to, 100) > 0) continue;
  nodes_.end_move(slot, to);
  EXPECT_FALSE(released.get());
  expect_grants_in_order(held.token());
}

class redis_cluster_storm : public redis_cluster_moves {
 protected:
  static constexpr std::size_t names = 3;
  static constexpr std::size_t contenders = 6;

  void contend(std::size_t number, const std::stop_token& end) {
    std::minstd_rand chance{static_cast<unsigned>(number + 1)};
    while (!end.stop_requested()) {
      const std::size_t which = chance() % names;
      try {
        auto held = mutex{clients_.at(number % clients_.size()), name(which), lasting()}.acquire();
        witnesses_.at(which).visit(mode::exclusive, held.token());
        if (held.release()) ++failures_;
      } catch (const error& failed) {
        ADD_FAILURE() << failed.what();
        return;
      }
    }
  }
  static std::string name(std::size_t which) { return "name " + std::to_string(which); }
  [[nodiscard]] std::int64_t visits() const {
    std::int64_t all = 0;
    for (const auto& each : witnesses_) all += each.count();
    return all;
  }

  test::scratch_folder folder_;
  std::array<test::witness, names> witnesses_{
      test::witness{folder_.file("0")}, test::witness{folder_.file("1")}, test::witness{folder_.file("2")}};
  std::array<client, 3> clients_{client{nodes_.url()}, client{nodes_.url()}, client{nodes_.url()}};
  std::atomic<int> failures_ = 0;
};

TEST_F(redis_cluster_storm, of_moves_lets_no_two_hold_and_reports_no_error) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < contenders; ++i)
    threads.emplace_back([this, i](const std::stop_token& end) { contend(i, end); });
  for (int round = 0; round < 10 && !HasFailure(); ++round) {
    for (std::size_t which = 0; which < names; ++which) {
      move(name(which), (owner_of(name(which)) + 1) % 3);
      const std::int64_t before = visits();
      await([&] { return visits() > before || HasFailure(); }, "nobody is granted a lock any more");
    }
  }
  for (auto& each : threads) each.request_stop();
  threads.clear();
  for (const auto& each : witnesses_) {
    EXPECT_EQ(each.overlaps(), 0);
    EXPECT_EQ(each.fragile_count(), each.count());
  }
  EXPECT_EQ(failures_, 0);
  EXPECT_THAT(clients_[0].list(), testing::IsEmpty());
  RecordProperty("grants", static_cast<int>(visits()));
}

}  // namespace
}  // namespace holdfast::faults
