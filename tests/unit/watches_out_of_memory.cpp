// Watches that cannot be added: nothing of them stays, and those after them work.

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "holdfast/client.hpp"
#include "holdfast/election.hpp"
#include "runtime/watchers.hpp"
#include "unit/failing_allocations.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using runtime::core_lock;

/// Too long to be stored without an allocation.
const std::string stock = "a name that is long enough for an allocation of its own";

class watches_out_of_memory : public testing::Test {
 protected:
  /// Fails each allocation of an addition in turn, until one succeeds.
  std::shared_ptr<void> add_in_the_end(const std::function<void()>& changed) {
    for (std::size_t which = 0;; ++which) {
      const core_lock now{loop_};
      const auto before = all_.size();
      const bool was_watched = all_.contains(stock);
      std::function<void()> action = changed;
      const store::watched target = stock;
      try {
        const test::failing_allocation fails{which};
        auto added = all_.add(target, std::move(action));
        if (!test::failing_allocation::has_failed()) return added;
        ADD_FAILURE() << "allocation " << which << " failed, and nobody was told";
      } catch (const std::bad_alloc&) {
        ++failed_;
      }
      EXPECT_EQ(all_.size(), before) << which;
      EXPECT_EQ(all_.contains(stock), was_watched) << which;
      EXPECT_EQ(tracked_, was_watched) << which;
    }
  }
  static bool is_called(const std::shared_ptr<std::promise<void>>& called) {
    return called->get_future().wait_for(30s) == std::future_status::ready;
  }
  /// Fulfils the promise the first time.
  static std::function<void()> fulfil(const std::shared_ptr<std::promise<void>>& promise) {
    return [promise, first = std::make_shared<bool>(true)] {
      if (std::exchange(*first, false)) promise->set_value();
    };
  }

  runtime::event_loop loop_;
  bool tracked_ = false;
  bool tracker_fails_ = false;
  std::size_t failed_ = 0;
  runtime::watchers all_{loop_, [this](const store::watched&, bool on) {
                           tracked_ = on;
                           if (on) static_cast<void>(std::make_unique<int>(1));  // as a request that is sent
                           if (on && tracker_fails_) throw std::runtime_error{"not tracked"};
                         }};
};

TEST_F(watches_out_of_memory, leave_nothing_of_the_first_watch_of_a_name) {
  const auto called = std::make_shared<std::promise<void>>();
  auto added = add_in_the_end(fulfil(called));
  EXPECT_GE(failed_, 5U) << "the group, the registration, the action, the timer, the tracker";
  EXPECT_TRUE(is_called(called));
  added.reset();
  const core_lock now{loop_};
  EXPECT_TRUE(all_.empty());
  EXPECT_FALSE(tracked_);
}

TEST_F(watches_out_of_memory, leave_the_other_watches_of_a_name_as_they_were) {
  const auto first_called = std::make_shared<std::promise<void>>();
  std::shared_ptr<void> first;
  {
    const core_lock now{loop_};
    first = all_.add(stock, fulfil(first_called));
  }
  ASSERT_TRUE(is_called(first_called));
  const auto called = std::make_shared<std::promise<void>>();
  auto second = add_in_the_end(fulfil(called));
  EXPECT_TRUE(is_called(called)) << "a timer that could not be set must not count as one that is due";
  first.reset();
  const core_lock now{loop_};
  EXPECT_TRUE(all_.contains(stock)) << "the second is still there";
  EXPECT_TRUE(tracked_);
}

TEST_F(watches_out_of_memory, end_the_tracking_that_failed_halfway) {
  const core_lock now{loop_};
  tracker_fails_ = true;
  EXPECT_THROW(static_cast<void>(all_.add(stock, [] {})), std::runtime_error);
  EXPECT_FALSE(tracked_);
  EXPECT_TRUE(all_.empty());
}

/// Copies of this name are the only allocations of their size.
const std::string boss(172, 'b');

// Each copy of the name fails in turn. An observer that stayed would be told that the client is closed.
TEST_F(watches_out_of_memory, leave_no_observer_of_an_election) {
  std::atomic<int> closings{0};
  {
    client locks{"memory:"};
    const election of{locks, boss};
    std::promise<void> closed;
    std::shared_ptr<void> observed;
    for (std::size_t which = 0; !observed; ++which) {
      try {
        const test::failing_allocation fails{which, boss.size() + 1};
        observed = of.observe([&](const observation& seen) {
          if (seen.failed && ++closings == 1) closed.set_value();
        });
        EXPECT_FALSE(test::failing_allocation::has_failed()) << which;
      } catch (const std::bad_alloc&) {
        ++failed_;
      }
    }
    EXPECT_GE(failed_, 4U) << "the observer, its first look, the watch";
    locks.close();
    closed.get_future().wait();
  }  // by now all have been told
  EXPECT_EQ(closings, 1) << "the one that was added";
}

}  // namespace
}  // namespace holdfast
