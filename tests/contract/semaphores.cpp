// SPDX-License-Identifier: Apache-2.0
// Permits, and names that are in use as something else.

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

class semaphores : public in_both_flavours {};

TEST_P(semaphores, give_out_as_many_permits_as_there_are) {
  contender& first = by(one(), "seats", 3);
  contender& second = by(two(), "seats", 3);
  auto a = first.take(permits(2).at_once());
  EXPECT_EQ(a.held.permits(), 2);
  EXPECT_EQ(a.held.mode(), mode::permits);
  ASSERT_TRUE(look().sees_holders("seats", 1));  // it has left the queue for them
  EXPECT_FALSE(second.take(permits(2).at_once()).held) << "only one is left";
  const auto b = second.take(permits(1).at_once());
  EXPECT_TRUE(b.held);
  ASSERT_TRUE(look().sees_holders("seats", 2));
  EXPECT_FALSE(first.take(permits(1).at_once()).held) << "none is left";
  EXPECT_FALSE(first.release(std::move(a.held)));
  EXPECT_TRUE(first.take(permits(2).at_once()).held) << "a lease gives back all its permits";
}

TEST_P(semaphores, refuse_counts_out_of_range) {
  contender& seats = by(one(), "seats", 3);
  for (const std::ptrdiff_t count : {-1, 0, 4}) {
    const auto got = seats.take(permits(count));
    EXPECT_EQ(got.code, errc::invalid_argument) << count;
    EXPECT_FALSE(got.held);
  }
  EXPECT_TRUE(seats.take(permits(3)).held);
}

TEST_P(semaphores, of_another_capacity_are_refused_while_in_use) {
  auto got = by(one(), "seats", 3).take(permits(1));
  ASSERT_TRUE(got.held);
  EXPECT_EQ(by(two(), "seats", 4).take(permits(1)).code, errc::wrong_type);
  EXPECT_FALSE(got.held.release());
  EXPECT_TRUE(by(two(), "seats", 4).take(permits(4)).held);
}

TEST_P(semaphores, and_mutexes_do_not_share_a_name) {
  {
    const auto seats = by(one(), "seats", 3).take(permits(1));
    ASSERT_TRUE(seats.held);
    EXPECT_EQ(by(two(), "seats").take(exclusive).code, errc::wrong_type);
    EXPECT_EQ(by(two(), "seats").take(shared.at_once()).code, errc::wrong_type);
  }
  const auto stock = by(one(), "stock").take(shared);
  ASSERT_TRUE(stock.held);
  EXPECT_EQ(by(two(), "stock", 3).take(permits(1)).code, errc::wrong_type);
}

HOLDFAST_IN_BOTH_FLAVOURS(semaphores, has_permits);

class semaphore_verbs : public on_each_store {};

TEST_P(semaphore_verbs, are_those_of_the_standard) {
  counting_semaphore seats{one(), "seats", 3};
  EXPECT_EQ(seats.max(), 3);
  EXPECT_FALSE(seats.held());
  seats.acquire();
  EXPECT_TRUE(seats.try_acquire());
  EXPECT_TRUE(seats.try_acquire_for(60s));
  EXPECT_TRUE(seats.held());
  EXPECT_FALSE(seats.try_acquire());
  EXPECT_FALSE(seats.try_acquire_until(std::chrono::system_clock::now() + 20ms));
  EXPECT_EQ(inspect("seats").holders.size(), 3U);

  seats.release(2);
  EXPECT_TRUE(look().sees_holders("seats", 1));
  EXPECT_TRUE(seats.held());
  seats.release(7);  // more than are kept: those
  EXPECT_TRUE(look().sees_holders("seats", 0));
  EXPECT_FALSE(seats.held());
  seats.release();
  EXPECT_THROW(static_cast<void>(seats.token()), error);
}

TEST_P(semaphore_verbs, give_back_what_this_object_has_and_nothing_else) {
  counting_semaphore mine{one(), "seats", 1};
  counting_semaphore theirs{two(), "seats", 1};
  mine.acquire();
  theirs.release();
  EXPECT_FALSE(theirs.try_acquire());
  EXPECT_TRUE(mine.held());
}

HOLDFAST_ON_EACH_STORE(semaphore_verbs, has_permits);

}  // namespace
}  // namespace holdfast::contract
