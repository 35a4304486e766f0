// SPDX-License-Identifier: Apache-2.0
// Delays between tries.

#include "core/backoff.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/samples.hpp"

namespace holdfast {
namespace {

using namespace test;

RC_GTEST_PROP(backoff, draws_each_delay_from_the_upper_half_of_a_step_that_doubles, ()) {
  const duration first{*rc::gen::inRange<std::int64_t>(1'000, 1'000'000)};
  const duration longest{*rc::gen::inRange<std::int64_t>(first.count(), 100'000'000)};
  store::backoff pause{retry_policy{}.longest(100s).first(first).longest(longest)};
  duration step = first;
  for (int i = 0; i < 40; ++i) {
    const duration delay = pause.next(*rc::gen::arbitrary<std::uint64_t>());
    RC_ASSERT(delay <= step);
    RC_ASSERT(delay >= step - step / 2);
    step = std::min(longest, step * 2);
  }
  pause.reset();
  RC_ASSERT(pause.next(0) == first);
}

TEST(backoff, reaches_both_ends_of_its_range) {
  store::backoff pause{retry_policy{}.first(10ms).longest(1s)};
  EXPECT_EQ(pause.next(0), 10ms);
  EXPECT_EQ(pause.next(10'000), 10ms) << "the first of 20 ms, half of the way down";
}

}  // namespace
}  // namespace holdfast
