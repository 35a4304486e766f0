// SPDX-License-Identifier: Apache-2.0
// One mechanism for three modes: rooms and weights.

#include <gtest/gtest.h>

#include "core/claim.hpp"
#include "core/samples.hpp"

namespace holdfast {
namespace {

store::claim claim_of(mode mode, std::int64_t permits = 1, std::int64_t capacity = 0) {
  store::claim c = test::a_claim();
  c.mode = mode;
  c.permits = permits;
  c.capacity = capacity;
  return c;
}

TEST(claims, weigh_what_their_mode_needs) {
  EXPECT_EQ(store::weight_of(claim_of(mode::exclusive)), store::full_capacity);
  EXPECT_EQ(store::weight_of(claim_of(mode::shared)), 1);
  EXPECT_EQ(store::weight_of(claim_of(mode::permits, 3, 5)), 3);
  EXPECT_EQ(store::capacity_of(claim_of(mode::exclusive)), store::full_capacity);
  EXPECT_EQ(store::capacity_of(claim_of(mode::shared)), store::full_capacity);
  EXPECT_EQ(store::capacity_of(claim_of(mode::permits, 3, 5)), 5);
}

TEST(claims, show_their_mode_by_their_weight) {
  for (const store::claim& c : {claim_of(mode::exclusive), claim_of(mode::shared),
                                claim_of(mode::permits, 1, 1), claim_of(mode::permits, 5, 5)}) {
    EXPECT_EQ(store::mode_of(store::weight_of(c), store::capacity_of(c)), c.mode);
  }
}

TEST(claims, leave_no_room_beside_a_writer_and_plenty_beside_a_reader) {
  EXPECT_GT(store::weight_of(claim_of(mode::exclusive)) + store::weight_of(claim_of(mode::shared)),
            store::full_capacity);
  EXPECT_LT(1'000'000 * store::weight_of(claim_of(mode::shared)), store::full_capacity);
}

}  // namespace
}  // namespace holdfast
