// SPDX-License-Identifier: Apache-2.0
// When a waiter looks again, for every place, time and chance.

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/acquisition.hpp"
#include "core/samples.hpp"

namespace holdfast {
namespace {

using namespace test;

duration any_ttl() { return duration{*rc::gen::inRange<std::int64_t>(100'000, 86'400'000'001)}; }
std::uint64_t any_chance() { return *rc::gen::arbitrary<std::uint64_t>(); }

RC_GTEST_PROP(next_look, of_a_place_in_the_middle_is_a_third_of_the_ttl_after_it_was_kept, ()) {
  const duration ttl = any_ttl();
  const store::time_point now = epoch + duration{*rc::gen::inRange<std::int64_t>(0, ttl.count())};
  const auto next = tickets::next_look(waiting_at(1), epoch, ttl, now, any_chance());
  RC_ASSERT(next == epoch + ttl / 3);  // a look that is lost twice still comes in time
}

RC_GTEST_PROP(next_look, of_the_head_is_never_later_than_the_end_of_the_hold_before_it, ()) {
  const duration ttl = any_ttl();
  const store::time_point now = epoch + duration{*rc::gen::inRange<std::int64_t>(0, ttl.count())};
  const duration left{*rc::gen::inRange<std::int64_t>(0, 2 * ttl.count())};
  const auto next = tickets::next_look(head_at(1, left), epoch, ttl, now, any_chance());
  RC_ASSERT(next <= std::max(now, epoch + ttl / 3));
  RC_ASSERT(next <= now + left + 1ms);
  RC_ASSERT(next <= now + 1s);  // the notification may be lost with its sender
  // And not for nothing: one of the three reasons is due.
  RC_ASSERT(next > now + left || next >= now + 900ms || next >= epoch + ttl / 3);
}

RC_GTEST_PROP(next_look, of_a_head_without_a_holder_is_a_second_away_at_most, ()) {
  const tickets::place head{fencing_token{1}, false, true, {}};
  const auto next = tickets::next_look(head, epoch, any_ttl(), epoch, any_chance());
  RC_ASSERT(next > epoch);
  RC_ASSERT(next <= epoch + 1s);
}

RC_GTEST_PROP(next_look, of_the_head_behind_a_silent_holder_is_soon_but_not_too_soon, ()) {
  const duration ttl = any_ttl();
  tickets::place at = head_at(1, duration{*rc::gen::inRange<std::int64_t>(0, 2 * ttl.count())});
  at.silent = true;
  const auto next = tickets::next_look(at, epoch, ttl, epoch, any_chance());
  RC_ASSERT(next >= std::min(epoch + 50ms, epoch + ttl / 3));
  RC_ASSERT(next <= epoch + 55ms);
}

TEST(next_look, of_heads_is_spread_by_chance) {
  EXPECT_EQ(tickets::next_look(head_at(1, 20s), epoch, 30s, epoch, 0), epoch + 1s);
  EXPECT_EQ(tickets::next_look(head_at(1, 20s), epoch, 30s, epoch, 100'000), epoch + 900ms);
}

TEST(next_look, of_the_head_comes_after_the_hold_has_ended_not_just_before) {
  EXPECT_EQ(tickets::next_look(head_at(1, 300ms), epoch, 30s, epoch, 0), epoch + 301ms);
}

}  // namespace
}  // namespace holdfast
