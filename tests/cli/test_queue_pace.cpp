// SPDX-License-Identifier: Apache-2.0
// When our turn may come, from what was seen of a queue.

#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "commands/queue_pace.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

claim_state claim_of(const std::string& owner, mode as = mode::exclusive) {
  claim_state claim;
  claim.owner = owner;
  claim.mode = as;
  claim.token = fencing_token{1};
  return claim;
}

lock_state look(const std::string& holder, const std::vector<std::string>& waiters) {
  lock_state lock;
  if (!holder.empty()) lock.holders.push_back(claim_of(holder));
  for (const auto& each : waiters) lock.waiters.push_back(claim_of(each));
  return lock;
}

class pace : public testing::Test {
 protected:
  /// A look `at` a time since the first.
  void see(duration at, const lock_state& lock) {
    last_ = lock;
    now_ = start + at;
    queue_.see(lock, now_);
  }
  [[nodiscard]] std::optional<queue_pace::estimate> turn(std::size_t ahead) const {
    return queue_.turn(last_, ahead, now_);
  }

  static constexpr boot_clock::time_point start{1h};
  queue_pace queue_;
  lock_state last_;
  boot_clock::time_point now_ = start;
};

TEST_F(pace, says_nothing_before_two_hand_overs) {
  see(0s, look("a", {"b", "c", "d", "me"}));
  EXPECT_FALSE(turn(3));
  see(9s, look("b", {"c", "d", "me"}));  // how long 'a' held before the first look is not known
  EXPECT_FALSE(turn(2));
  see(19s, look("c", {"d", "me"}));
  ASSERT_TRUE(turn(1));
  EXPECT_EQ(turn(1)->handovers, 2U);
  EXPECT_EQ(turn(1)->between, 10s);
  EXPECT_EQ(turn(1)->until_turn, 20s);
}

TEST_F(pace, counts_down_within_a_hold_and_not_below_those_who_wait_ahead) {
  see(0s, look("a", {"b", "c", "d", "me"}));
  see(10s, look("b", {"c", "d", "me"}));
  see(20s, look("c", {"d", "me"}));
  see(24s, look("c", {"d", "me"}));
  EXPECT_EQ(turn(1)->until_turn, 16s);
  see(60s, look("c", {"d", "me"}));
  EXPECT_EQ(turn(1)->until_turn, 10s) << "'d' still has its turn";
}

TEST_F(pace, says_nothing_to_the_next_while_its_holder_takes_longer_than_usual) {
  see(0s, look("a", {"b", "c", "me"}));
  see(10s, look("b", {"c", "me"}));
  see(20s, look("c", {"me"}));
  EXPECT_EQ(turn(0)->until_turn, 10s);
  see(30s, look("c", {"me"}));
  EXPECT_FALSE(turn(0));
}

TEST_F(pace, takes_the_median_of_the_last_five) {
  see(0s, look("a", {"b", "c", "d", "e", "f", "g", "h", "me"}));
  see(100s, look("b", {"c", "d", "e", "f", "g", "h", "me"}));
  see(600s, look("c", {"d", "e", "f", "g", "h", "me"}));  // 500 s, too old in the end
  see(601s, look("d", {"e", "f", "g", "h", "me"}));       // 1 s
  see(604s, look("e", {"f", "g", "h", "me"}));            // 3 s
  EXPECT_EQ(turn(3)->between, 3s) << "of 1, 3 and 500 s";
  see(609s, look("f", {"g", "h", "me"}));  // 5 s
  see(1609s, look("g", {"h", "me"}));      // 1000 s
  ASSERT_TRUE(turn(1));
  EXPECT_EQ(turn(1)->handovers, 5U);
  EXPECT_EQ(turn(1)->between, 4s) << "of 1, 3, 5 and 1000 s";
}

TEST_F(pace, does_not_count_what_it_has_not_seen_whole) {
  see(0s, look("a", {"b", "c", "d", "e", "me"}));
  see(10s, look("b", {"c", "d", "e", "me"}));
  see(30s, look("d", {"e", "me"}));  // 'c' held, or gave up
  EXPECT_FALSE(turn(1));
  see(40s, look("e", {"me"}));
  EXPECT_EQ(turn(0)->between, 10s);
}

TEST_F(pace, takes_a_look_between_two_holders_for_none) {
  see(0s, look("a", {"b", "c", "me"}));
  see(10s, look("b", {"c", "me"}));
  see(20s, look("", {"c", "me"}));
  EXPECT_FALSE(turn(1)) << "nobody holds";
  see(21s, look("c", {"me"}));
  EXPECT_EQ(turn(0)->between, 11s);
}

TEST_F(pace, takes_a_withdrawal_for_no_hand_over) {
  see(0s, look("a", {"b", "c", "d", "me"}));
  see(10s, look("b", {"c", "d", "me"}));
  see(15s, look("b", {"d", "me"}));
  EXPECT_FALSE(turn(1));
  see(20s, look("d", {"me"}));
  EXPECT_EQ(turn(0)->between, 10s);
}

TEST_F(pace, says_nothing_of_claims_that_may_hold_together) {
  see(0s, look("a", {"b", "c", "d", "me"}));
  see(10s, look("b", {"c", "d", "me"}));
  see(20s, look("c", {"d", "me"}));
  for (const auto other : {mode::shared, mode::permits}) {
    auto waits_ahead = last_;
    waits_ahead.waiters.front().mode = other;
    EXPECT_FALSE(queue_.turn(waits_ahead, 1, now_));
    auto ours = last_;
    ours.waiters.back().mode = other;
    EXPECT_FALSE(queue_.turn(ours, 1, now_));
    auto holds = last_;
    holds.holders.front().mode = other;
    EXPECT_FALSE(queue_.turn(holds, 1, now_));
  }
  EXPECT_TRUE(turn(1));
  auto together = last_;
  together.holders.push_back(claim_of("x", mode::shared));
  see(21s, together);
  see(25s, look("d", {"me"}));
  EXPECT_FALSE(turn(0)) << "readers have held meanwhile: it begins anew";
}

// The holds of one process of redis-py may all have one text.
TEST_F(pace, takes_nothing_from_holders_of_other_libraries) {
  auto foreign = look("theirs", {"b", "c", "d", "me"});
  foreign.holders.front().token = {};
  see(0s, look("a", {"theirs", "b", "c", "d", "me"}));
  see(10s, foreign);
  see(20s, foreign);
  EXPECT_FALSE(turn(3));
  see(30s, look("b", {"c", "d", "me"}));
  see(40s, look("c", {"d", "me"}));
  EXPECT_FALSE(turn(1)) << "one hand-over was seen since";
  see(55s, look("d", {"me"}));
  EXPECT_EQ(turn(0)->between, 15s);
}

TEST_F(pace, says_nothing_of_a_claim_that_is_not_in_the_queue) {
  see(0s, look("a", {"b", "c", "me"}));
  see(10s, look("b", {"c", "me"}));
  see(20s, look("c", {"me"}));
  EXPECT_FALSE(turn(1));
}

TEST(pace_texts, say_how_fast_the_queue_moves) {
  const auto text = [](duration between) {
    return pace_text({.until_turn = 1h, .between = between, .handovers = 5});
  };
  EXPECT_EQ(text(1234ms), "one hand-over every 1.2s, as the last 5");
  EXPECT_EQ(text(350ms), "one hand-over every 350ms, as the last 5");
  EXPECT_EQ(text(9960ms), "one hand-over every 10.0s, as the last 5");
  EXPECT_EQ(text(130s), "one hand-over every 2m10s, as the last 5");
}

TEST(rounded_estimates, are_as_exact_as_they_are_true) {
  EXPECT_EQ(rounded_estimate(1ms), 1s);
  EXPECT_EQ(rounded_estimate(7400ms), 7s);
  EXPECT_EQ(rounded_estimate(38s), 40s);
  EXPECT_EQ(rounded_estimate(58s), 60s);
  EXPECT_EQ(rounded_estimate(133s), 130s);
  EXPECT_EQ(rounded_estimate(754s), 13min);
  EXPECT_EQ(rounded_estimate(63min), 65min);
}

}  // namespace
}  // namespace holdfast::cli
