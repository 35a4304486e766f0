// SPDX-License-Identifier: Apache-2.0
// recursive_mutex: counted per thread, given back with the last unlock.

#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

class recursion : public on_each_store {
 protected:
  /// What another thread of this process finds.
  static bool another_thread_gets(recursive_mutex& lock) {
    return std::async(std::launch::async,
                      [&] {
                        const bool got = lock.try_lock();
                        if (got) lock.unlock();
                        return got;
                      })
        .get();
  }
};

TEST_P(recursion, nests_in_one_thread_and_ends_with_the_last_unlock) {
  recursive_mutex lock{one(), "stock"};
  mutex other{two(), "stock"};
  lock.lock();
  const auto token = lock.token();
  EXPECT_TRUE(lock.try_lock());
  EXPECT_TRUE(lock.try_lock_for(1ms));
  EXPECT_EQ(lock.token(), token) << "only the first lock is a grant";
  EXPECT_EQ(inspect("stock").holders.size(), 1U);
  lock.unlock();
  lock.unlock();
  EXPECT_FALSE(other.try_lock());
  EXPECT_TRUE(lock.held());
  lock.unlock();
  EXPECT_TRUE(other.try_lock_for(60s));
  EXPECT_FALSE(lock.held());
  other.unlock();
}

TEST_P(recursion, excludes_the_other_threads) {
  recursive_mutex lock{one(), "stock"};
  lock.lock();
  EXPECT_FALSE(another_thread_gets(lock));
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_for(60s));
  lock.unlock();
}

TEST_P(recursion, hands_over_between_threads) {
  recursive_mutex lock{one(), "stock"};
  lock.lock();
  auto other = std::async(std::launch::async, [&] {
    const std::scoped_lock held{lock};
    return lock.token();
  });
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  const auto mine = lock.token();
  lock.unlock();
  EXPECT_GT(other.get(), mine);
}

TEST_P(recursion, unlock_by_another_thread_does_nothing) {
  recursive_mutex lock{one(), "stock"};
  lock.lock();
  std::async(std::launch::async, [&] { lock.unlock(); }).get();
  EXPECT_TRUE(lock.held());
  EXPECT_FALSE(mutex(two(), "stock").try_lock());
  lock.unlock();
}

TEST_P(recursion, does_not_nest_into_a_lost_hold) {
  recursive_mutex lock{one(), "stock", lock_options{}.ttl(300ms).renewal(false)};
  mutex next{two(), "stock"};
  insist([&] { lock.lock(); });
  next.lock();  // when the fixed lease has ended
  const auto refused = failure_of([&] { lock.lock(); });
  EXPECT_EQ(refused.code, errc::lost);
  EXPECT_THAT(refused.text, testing::HasSubstr("'stock' on " + one().url()));
  EXPECT_FALSE(lock.held());
  lock.unlock();
  EXPECT_TRUE(next.held()) << "the loser's unlock hit the next holder";
  next.unlock();
  EXPECT_TRUE(insist([&] { return lock.try_lock_for(60s); })) << "after its unlock it may start anew";
  lock.unlock();
}

TEST_P(recursion, of_asynchronous_claims_does_not_exist) {
  recursive_mutex lock{one(), "stock"};
  const auto held = lock.async_acquire(boost::asio::use_future).get();
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(lock.async_try_acquire(boost::asio::use_future).get());
  EXPECT_FALSE(
      answered([&] { return lock.async_try_acquire_for(brief_wait, boost::asio::use_future).get(); }));
}

HOLDFAST_ON_EACH_STORE(recursion, any_store);

}  // namespace
}  // namespace holdfast::contract
