// SPDX-License-Identifier: Apache-2.0
// Memory that runs out: an error of the public call that asked, and below it the end of the process.

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "holdfast/client.hpp"
#include "holdfast/election.hpp"
#include "holdfast/error.hpp"
#include "holdfast/lock_set.hpp"
#include "holdfast/mutex.hpp"
#include "runtime/event_loop.hpp"
#include "unit/failing_allocations.hpp"

namespace holdfast {
namespace {

/// Too long to be stored without an allocation.
const std::string stock = "stock: a name that is long enough for an allocation of its own";
const std::string basket = "basket: a name that is long enough for an allocation of its own";

/// Of those that make an event loop none fails: Boost loses memory where an io_context cannot be made.
std::size_t allocations_of_loop() {
  const runtime::event_loop first;  // what is made once in a process
  return test::allocations_in([] { const runtime::event_loop loop; });
}

TEST(out_of_memory, makes_no_client) {
  std::optional<client> locks;
  int failed = 0;
  for (std::size_t which = allocations_of_loop(); !locks; ++which) {
    try {
      const test::failing_allocation fails{which};
      locks.emplace("memory:out_of_memory");
    } catch (const std::bad_alloc&) {
      ++failed;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::exhausted) << e.what();
      ++failed;
    }
  }
  EXPECT_GE(failed, 10) << "the store, the lease core";
  EXPECT_TRUE(mutex(*locks, "stock").try_lock());
}

TEST(out_of_memory, is_an_error_of_the_call_that_asked) {
  client locks{"memory:"};
  mutex lock{locks, stock};
  lock_set both{locks, {lock_spec{basket}, lock_spec{stock}}};
  election leader{locks, stock};
  const auto fails = [](auto call) {
    const test::failing_allocation first{0};
    EXPECT_THROW(call(), std::bad_alloc);
    EXPECT_TRUE(test::failing_allocation::has_failed());
  };
  fails([&] { static_cast<void>(lock.acquire()); });
  fails([&] { static_cast<void>(lock.try_acquire()); });
  fails([&] { static_cast<void>(both.acquire()); });
  fails([&] { static_cast<void>(leader.campaign("boss")); });
  fails([&] { static_cast<void>(locks.inspect(stock)); });
  fails([&] { static_cast<void>(locks.watch([] {})); });
  EXPECT_TRUE(both.try_lock()) << "nothing is left of them";
}

using out_of_memory_death = testing::Test;

// Later allocations of the call are those of the operation, which other threads know by then.
TEST_F(out_of_memory_death, ends_the_process_below_the_call) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto fail_each_in_turn = [] {
    client locks{"memory:"};
    mutex lock{locks, stock};
    for (std::size_t which = 0;; ++which) {
      const test::failing_allocation fails{which};
      try {
        static_cast<void>(lock.acquire());
      } catch (const std::bad_alloc&) {
        continue;
      }
      if (!test::failing_allocation::has_failed()) std::exit(0);
    }
  };
  EXPECT_EXIT(fail_each_in_turn(), testing::KilledBySignal(SIGABRT), "terminate called");
}

TEST_F(out_of_memory_death, ends_the_process_on_a_thread_of_a_client) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto fail_in_a_timer = [] {
    runtime::event_loop loop;
    {
      const runtime::core_lock now{loop};
      loop.at(loop.now(), [&] {
        const test::failing_allocation fails{0};
        for (int i = 0; i < 100; ++i) loop.at(loop.now(), [] {});  // more than there is room for
      });
    }
    std::promise<void>{}.get_future().wait();
  };
  EXPECT_EXIT(fail_in_a_timer(), testing::KilledBySignal(SIGABRT), "terminate called");
}

}  // namespace
}  // namespace holdfast
