// SPDX-License-Identifier: Apache-2.0
// One queue for all: first come first served, and nobody starves.

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

class fairness : public in_both_flavours {
 protected:
  /// Starts a contender and sees that it stands in the queue behind those before it.
  pending_outcome queue_up(contender& from, const wish& request) {
    auto pending = from.start(request);
    EXPECT_TRUE(look().sees_waiters("stock", ++queued_));
    return pending;
  }
  /// The client of others that queue up. On Redlock it is the same one: the order among clients is as exact
  /// as their estimates of the servers' clocks.
  client& other() { return kind_.by_majority ? one() : two(); }

 private:
  std::size_t queued_ = 0;
};

TEST_P(fairness, first_come_first_served_whoever_the_client) {
  auto held = by(one(), "stock").take(exclusive).held;
  std::vector<pending_outcome> queue;
  for (int each = 0; each < 6; ++each) {
    queue.push_back(queue_up(by(each % 2 == 0 ? one() : other(), "stock"), exclusive));
  }
  for (auto next = queue.begin(); next != queue.end(); ++next) {
    EXPECT_FALSE(held.release());
    held = get(*next).held;
    ASSERT_TRUE(held.held());
    EXPECT_TRUE(std::all_of(std::next(next), queue.end(), is_pending));
  }
}

TEST_P(fairness, a_newcomer_does_not_overtake_the_queue) {
  auto reader = by(one(), "stock").take(shared);
  auto writer = queue_up(by(other(), "stock"), exclusive);
  EXPECT_FALSE(by(one(), "stock").take(shared.at_once()).held) << "a reader overtook a waiting writer";
  EXPECT_FALSE(reader.held.release());
  EXPECT_TRUE(get(writer).held.held());
}

TEST_P(fairness, a_stream_of_readers_does_not_starve_a_writer) {
  auto reader = by(one(), "stock").take(shared);
  auto writer = queue_up(by(other(), "stock"), exclusive);
  auto behind = queue_up(by(one(), "stock"), shared);
  EXPECT_TRUE(is_pending(writer)) << "the writer did not wait for the reader";
  EXPECT_TRUE(is_pending(behind)) << "a reader overtook a waiting writer";

  EXPECT_FALSE(reader.held.release());
  auto writing = get(writer);
  ASSERT_TRUE(writing.held.held());
  EXPECT_TRUE(is_pending(behind));
  EXPECT_FALSE(writing.held.release());
  EXPECT_TRUE(get(behind).held.held());
}

TEST_P(fairness, a_writer_waits_for_every_reader) {
  auto first = by(one(), "stock").take(shared);
  auto second = by(two(), "stock").take(shared);
  ASSERT_TRUE(second.held);
  auto writer = queue_up(by(one(), "stock"), exclusive);
  EXPECT_FALSE(first.held.release());
  EXPECT_EQ(inspect("stock").holders.size(), 1U);
  EXPECT_TRUE(is_pending(writer));
  EXPECT_FALSE(second.held.release());
  EXPECT_TRUE(get(writer).held.held());
}

TEST_P(fairness, readers_next_to_each_other_come_in_together) {
  auto writer = by(one(), "stock").take(exclusive);
  auto first = queue_up(by(one(), "stock"), shared);
  auto second = queue_up(by(other(), "stock"), shared);
  auto next_writer = queue_up(by(one(), "stock"), exclusive);
  auto third = queue_up(by(other(), "stock"), shared);

  EXPECT_FALSE(writer.held.release());
  auto reading = get(first);
  auto reading_too = get(second);
  EXPECT_TRUE(reading.held.held());
  EXPECT_TRUE(reading_too.held.held());
  EXPECT_TRUE(is_pending(next_writer));
  EXPECT_TRUE(is_pending(third));
  EXPECT_FALSE(reading.held.release());
  EXPECT_FALSE(reading_too.held.release());
  auto writing = get(next_writer);
  EXPECT_TRUE(writing.held.held());
  EXPECT_FALSE(writing.held.release());
  EXPECT_TRUE(get(third).held.held());
}

TEST_P(fairness, a_downgrade_lets_queued_readers_in_and_no_writer) {
  auto writer = by(one(), "stock").take(writing);
  auto reader = queue_up(by(two(), "stock"), shared);
  auto next_writer = queue_up(by(two(), "stock"), writing);
  const auto token = writer.held.token();

  auto kept = by(one(), "stock").downgrade(std::move(writer.held));
  ASSERT_FALSE(kept.code) << kept.code.message();
  EXPECT_TRUE(kept.held.held());
  EXPECT_EQ(kept.held.mode(), mode::shared);
  EXPECT_EQ(kept.held.token(), token);
  auto reading = get(reader);
  EXPECT_TRUE(reading.held.held());
  EXPECT_TRUE(is_pending(next_writer));
  EXPECT_EQ(inspect("stock").holders.size(), 2U);

  EXPECT_FALSE(kept.held.release());
  EXPECT_FALSE(reading.held.release());
  EXPECT_TRUE(get(next_writer).held.held());
}

TEST_P(fairness, a_downgrade_of_a_shared_hold_changes_nothing) {
  auto reader = by(one(), "stock").take(shared);
  const auto kept = by(one(), "stock").downgrade(std::move(reader.held));
  EXPECT_FALSE(kept.code) << kept.code.message();
  EXPECT_TRUE(kept.held.held());
}

TEST_P(fairness, a_downgrade_of_permits_is_refused) {
  HOLDFAST_NEEDS_PERMITS();
  auto some = by(one(), "stock", 3).take(permits(2));
  const auto kept = by(one(), "stock", 3).downgrade(std::move(some.held));
  EXPECT_EQ(kept.code, errc::wrong_type);
  EXPECT_TRUE(kept.held.held());
}

TEST_P(fairness, a_large_want_is_not_starved_by_small_ones) {
  HOLDFAST_NEEDS_PERMITS();
  auto some = by(one(), "stock", 3).take(permits(2));
  auto all = queue_up(by(two(), "stock", 3), permits(3));
  EXPECT_FALSE(by(one(), "stock", 3).take(permits(1).at_once()).held)
      << "one permit is free, but the first in the queue wants three";
  auto small = queue_up(by(one(), "stock", 3), permits(1));

  EXPECT_FALSE(some.held.release());
  auto large = get(all);
  EXPECT_EQ(large.held.permits(), 3);
  EXPECT_TRUE(is_pending(small));
  EXPECT_FALSE(large.held.release());
  EXPECT_TRUE(get(small).held.held());
}

HOLDFAST_IN_BOTH_FLAVOURS(fairness, any_store);

}  // namespace
}  // namespace holdfast::contract
