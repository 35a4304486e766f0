// SPDX-License-Identifier: Apache-2.0
// The guards, algorithms and condition variables of the standard library, on our types.

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

class guards : public on_each_store {};

TEST_P(guards, scoped_lock_takes_two_names_without_a_deadlock) {
  mutex apples{one(), "apples"};
  mutex pears{one(), "pears"};
  mutex other_apples{two(), "apples"};
  mutex other_pears{two(), "pears"};
  int moved = 0;
  const auto move_some = [&](mutex& from, mutex& to) {
    for (int turn = 0; turn < 20; ++turn) {
      const std::scoped_lock both{from, to};
      EXPECT_TRUE(from.held() && to.held());
      ++moved;
    }
  };
  {
    std::jthread there{[&] { move_some(apples, pears); }};
    std::jthread back{[&] { move_some(other_pears, other_apples); }};
  }
  EXPECT_EQ(moved, 40);
}

TEST_P(guards, lock_guard_locks_and_unlocks) {
  recursive_mutex lock{one(), "stock"};
  {
    const std::lock_guard outer{lock};
    const std::lock_guard inner{lock};
    EXPECT_FALSE(mutex(two(), "stock").try_lock());
  }
  EXPECT_TRUE(look().sees_holders("stock", 0));
}

TEST_P(guards, unlock_is_done_by_an_exception_too) {
  mutex lock{one(), "stock"};
  EXPECT_THROW(
      {
        const std::lock_guard held{lock};
        throw std::runtime_error{"from the work"};
      },
      std::runtime_error);
  EXPECT_FALSE(lock.held());
  EXPECT_TRUE(look().sees_holders("stock", 0));
}

TEST_P(guards, unique_lock_waits_for_a_time) {
  mutex lock{one(), "stock"};
  mutex other{two(), "stock"};
  std::unique_lock held{lock, 60s};
  EXPECT_TRUE(held.owns_lock());
  std::unique_lock refused{other, std::defer_lock};
  EXPECT_FALSE(refused.try_lock());
  EXPECT_FALSE(answered([&] { return refused.try_lock_for(brief_wait); }));
  EXPECT_FALSE(
      answered([&] { return refused.try_lock_until(std::chrono::steady_clock::now() + brief_wait); }));
  EXPECT_FALSE(
      answered([&] { return refused.try_lock_until(std::chrono::system_clock::now() + brief_wait); }));
  EXPECT_FALSE(refused.try_lock_until(boot_clock::now() - 1s));
  held.unlock();
  EXPECT_TRUE(refused.try_lock_for(60s));
}

TEST_P(guards, shared_lock_shares) {
  shared_mutex lock{one(), "stock"};
  shared_mutex other{two(), "stock"};
  {
    const std::shared_lock first{lock};
    const std::shared_lock second{other, 60s};
    EXPECT_TRUE(second.owns_lock());
    EXPECT_FALSE(other.try_lock());
  }
  const std::unique_lock writer{other, 60s};
  ASSERT_TRUE(writer.owns_lock());
  std::shared_lock refused{lock, std::defer_lock};
  EXPECT_FALSE(refused.try_lock());
  EXPECT_FALSE(answered([&] { return refused.try_lock_for(brief_wait); }));
  EXPECT_FALSE(
      answered([&] { return refused.try_lock_until(std::chrono::steady_clock::now() + brief_wait); }));
}

TEST_P(guards, condition_variable_any_waits_with_a_lock) {
  mutex lock{one(), "stock"};
  std::condition_variable_any arrived;
  bool here = false;
  std::jthread supplier{[&] {
    const std::scoped_lock held{lock};
    here = true;
    arrived.notify_one();
  }};
  std::unique_lock held{lock};
  EXPECT_TRUE(arrived.wait_for(held, 60s, [&] { return here; }));
  EXPECT_TRUE(lock.held());
}

TEST_P(guards, condition_variable_any_stops_waiting_when_the_lease_is_lost) {
  mutex lock{one(), "stock", lock_options{}.ttl(1s).renewal(false)};
  mutex other{two(), "other", lock_options{}.ttl(2s).renewal(false)};
  other.lock();
  const auto lost = other.lost();
  std::condition_variable_any never;
  std::unique_lock held{lock};
  EXPECT_FALSE(never.wait(held, lost, [] { return false; }));
  EXPECT_TRUE(lost.stop_requested());
}

HOLDFAST_ON_EACH_STORE(guards, any_store);

}  // namespace
}  // namespace holdfast::contract
