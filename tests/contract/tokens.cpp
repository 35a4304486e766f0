// SPDX-License-Identifier: Apache-2.0
// Fencing tokens: larger than that of every earlier grant of the name.

#include <set>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

class tokens : public in_both_flavours {};

TEST_P(tokens, rise_over_all_grants_whatever_the_mode_and_client) {
  fencing_token last;
  for (int turn = 0; turn < 3; ++turn) {
    for (client* locks : {&one(), &two()}) {
      for (const auto& request : {exclusive, shared, permits(2)}) {
        if (request.mode == mode::permits && !kind_.has_permits) continue;
        auto got = by(*locks, "stock", 2).take(request);
        ASSERT_TRUE(got.held) << got.code.message();
        EXPECT_GT(got.held.token(), last);
        last = got.held.token();
        EXPECT_FALSE(got.held.release());
      }
    }
  }
}

TEST_P(tokens, differ_between_those_who_hold_together) {
  const auto first = by(one(), "stock").take(shared);
  const auto second = by(two(), "stock").take(shared);
  const auto third = by(one(), "stock").take(shared);
  EXPECT_LT(first.held.token(), second.held.token());
  EXPECT_LT(second.held.token(), third.held.token());
}

TEST_P(tokens, of_different_names_are_independent_of_each_other) {
  const auto first = by(one(), "stock/1").take(exclusive);
  const auto second = by(one(), "stock/2").take(exclusive);
  EXPECT_TRUE(first.held.token());
  EXPECT_TRUE(second.held.token());
  EXPECT_EQ(inspect("stock/1").last_token, first.held.token());
}

TEST_P(tokens, go_on_rising_when_all_who_used_the_name_are_gone) {
  bystander();  // keeps a store in memory alive, as a server or a file would be
  auto got = by(one(), "stock").take(exclusive);
  const auto before = got.held.token();
  EXPECT_FALSE(got.held.release());
  one().close();
  EXPECT_GT(by(two(), "stock").take(exclusive).held.token(), before);
}

TEST_P(tokens, stay_what_they_are_through_renewal_and_downgrade) {
  auto got = by(one(), "stock").take(writing);
  const auto token = got.held.token();
  EXPECT_EQ(got.held.renew(), renewal::renewed);
  EXPECT_EQ(got.held.token(), token);
  got.held.downgrade();
  EXPECT_EQ(got.held.token(), token);
  EXPECT_EQ(inspect("stock").holders.at(0).token, token);
}

TEST_P(tokens, are_still_told_by_a_lost_lease) {
  auto got = by(one(), "stock").take(exclusive);
  const auto token = got.held.token();
  EXPECT_EQ(bystander().force_release("stock"), 1U);
  EXPECT_EQ(got.held.release(), errc::lost);
  EXPECT_GT(by(two(), "stock").take(exclusive).held.token(), token);
}

HOLDFAST_IN_BOTH_FLAVOURS(tokens, any_store);

}  // namespace
}  // namespace holdfast::contract
