// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <vector>

#include "holdfast/error.hpp"
#include "support/failing.hpp"
#include "unit/no_threads.hpp"

namespace holdfast::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto hang = 30s;

TEST(lane, runs_tasks_in_the_order_of_posting) {
  std::vector<int> order;
  {
    lane one;
    for (int each = 0; each < 100; ++each) one.post([&order, each] { order.push_back(each); });
  }
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(lane, goes_on_after_a_task_that_blocks) {
  std::promise<void> begun;
  std::promise<void> end;
  std::promise<void> second;
  lane one;
  one.post([&] {
    begun.set_value();
    end.get_future().wait();
  });
  EXPECT_EQ(begun.get_future().wait_for(hang), std::future_status::ready);
  one.post([&] { second.set_value(); });
  auto runs = second.get_future();
  EXPECT_EQ(runs.wait_for(0s), std::future_status::timeout);
  end.set_value();
  EXPECT_EQ(runs.wait_for(hang), std::future_status::ready);
}

TEST(lane, runs_everything_before_it_ends) {
  int done = 0;
  lane one;
  for (int each = 0; each < 50; ++each) {
    one.post([&] {
      ++done;
      one.post([&] { ++done; });
    });
  }
  one.finish();
  EXPECT_EQ(done, 100);
  one.post([&] { ++done; });
  EXPECT_EQ(done, 101) << "a task that comes later runs at once";
  one.finish();
}

TEST(lane, needs_a_thread) {
  const test::no_threads none;
  EXPECT_EQ(test::failure_of([] { const lane one; }).code, errc::exhausted);
}

}  // namespace
}  // namespace holdfast::runtime
