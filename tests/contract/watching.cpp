// SPDX-License-Identifier: Apache-2.0
// Watching single names: what calls, what does not, and for how long.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

/// Counts the calls of a watch. It outlives the watch.
class call_counter {
 public:
  [[nodiscard]] std::function<void()> counting() {
    return [this] {
      const std::lock_guard held{guard_};
      ++calls_;
      called_.notify_all();
    };
  }
  [[nodiscard]] int calls() {
    const std::lock_guard held{guard_};
    return calls_;
  }
  /// Waits for a call after so many.
  [[nodiscard]] bool comes_after(int seen) {
    std::unique_lock held{guard_};
    return called_.wait_for(held, 60s, [&] { return calls_ > seen; });
  }
  /// Waits, from call to call, until it is so.
  [[nodiscard]] bool lead_to(const std::function<bool()>& is_so) {
    int seen = calls();
    while (!is_so()) {
      if (!comes_after(seen)) return false;
      seen = calls();
    }
    return true;
  }

 private:
  std::mutex guard_;
  std::condition_variable called_;
  int calls_ = 0;
};

class watching : public on_each_store {
 protected:
  /// Each change has been seen by a watch of `by` before the next one, so that no burst covers several.
  void change_in_steps(client& by, const std::string& name, int times) {
    call_counter steps;
    const auto all = by.watch(steps.counting());
    mutex lock{by, name};
    for (int i = 0; i < times; ++i) {
      const int seen = steps.calls();
      EXPECT_FALSE(lock.acquire().release());
      EXPECT_TRUE(steps.comes_after(seen));
    }
  }
  [[nodiscard]] bool leads_to_holders(call_counter& calls, std::size_t count) {
    return calls.lead_to([&] { return inspect("stock").holders.size() == count; });
  }
  [[nodiscard]] bool leads_to_waiters(call_counter& calls, std::size_t count) {
    return calls.lead_to([&] { return inspect("stock").waiters.size() == count; });
  }
  void expect_calls_for_one_name_only(bool beside_a_watch_of_all);

  call_counter calls_;
};

TEST_P(watching, one_name_calls_for_claims_grants_releases_and_losses) {
  const auto watch = bystander().watch("stock", calls_.counting());
  auto held = mutex{one(), "stock"}.acquire();
  EXPECT_TRUE(leads_to_holders(calls_, 1));
  auto& next = in_flavour(flavour::blocking, two(), "stock", 1, {});
  auto waiting = next.start(exclusive);
  EXPECT_TRUE(leads_to_waiters(calls_, 1));
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(leads_to_waiters(calls_, 0));
  auto granted = get(waiting);
  ASSERT_TRUE(granted.held.held());
  EXPECT_TRUE(leads_to_holders(calls_, 1));
  EXPECT_EQ(two().force_release("stock"), 1U);
  EXPECT_TRUE(leads_to_holders(calls_, 0));
}

TEST_P(watching, one_name_calls_for_readers_and_permits) {
  const auto watch = bystander().watch("stock", calls_.counting());
  {
    shared_mutex lock{one(), "stock"};
    const auto first = lock.acquire_shared();
    const auto second = shared_mutex{two(), "stock"}.acquire_shared();
    EXPECT_TRUE(leads_to_holders(calls_, 2));
  }
  EXPECT_TRUE(leads_to_holders(calls_, 0));
  HOLDFAST_NEEDS_PERMITS();
  call_counter of_rooms;
  const auto others = bystander().watch("rooms", of_rooms.counting());
  counting_semaphore rooms{one(), "rooms", 2};
  auto first = rooms.acquire_permits(1);
  const auto second = rooms.acquire_permits(1);
  const auto held = [&](std::size_t count) { return inspect("rooms").holders.size() == count; };
  EXPECT_TRUE(of_rooms.lead_to([&] { return held(2); }));
  EXPECT_FALSE(first.release());
  EXPECT_TRUE(of_rooms.lead_to([&] { return held(1); }));
}

void watching::expect_calls_for_one_name_only(bool beside_a_watch_of_all) {
  EXPECT_FALSE(mutex(one(), "stock").acquire().release());
  EXPECT_FALSE(mutex(one(), "other").acquire().release());
  std::shared_ptr<void> all;
  if (beside_a_watch_of_all) all = bystander().watch([] {});
  const auto watch = bystander().watch("stock", calls_.counting());
  EXPECT_TRUE(calls_.comes_after(0)) << "no call at the beginning";
  constexpr int changes = 20;
  change_in_steps(one(), "other", changes);
  const auto held = mutex{one(), "stock"}.acquire();
  EXPECT_TRUE(leads_to_holders(calls_, 1));
  EXPECT_LT(calls_.calls(), changes / 2);
}

TEST_P(watching, one_name_does_not_call_for_others) { expect_calls_for_one_name_only(false); }

TEST_P(watching, one_name_does_not_call_for_others_beside_a_watch_of_all) {
  expect_calls_for_one_name_only(true);
}

// Who looks at each call would look for ever.
TEST_P(watching, does_not_call_for_the_looks_of_who_watches) {
  const auto held = mutex{one(), "stock"}.acquire();
  call_counter of_all;
  const auto watch = bystander().watch("stock", [&, count = calls_.counting()] {
    (void)bystander().inspect("stock");
    count();
  });
  EXPECT_TRUE(calls_.comes_after(0));
  const auto watch_of_all = two().watch([&, count = of_all.counting()] {
    (void)two().list();
    (void)two().inspect("stock");
    count();
  });
  EXPECT_TRUE(of_all.comes_after(0));
  client elsewhere{"memory:"};
  constexpr int steps = 40;  // each takes as long as a call for a look would
  change_in_steps(elsewhere, "other", steps);
  EXPECT_LT(calls_.calls(), steps / 4);
  EXPECT_LT(of_all.calls(), steps / 4);
}

TEST_P(watching, of_the_same_name_end_one_by_one) {
  call_counter others;
  auto first = bystander().watch("stock", calls_.counting());
  auto second = bystander().watch("stock", others.counting());
  auto held = mutex{one(), "stock"}.acquire();
  EXPECT_TRUE(leads_to_holders(calls_, 1));
  EXPECT_TRUE(leads_to_holders(others, 1));
  first.reset();
  const int seen = calls_.calls();
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(leads_to_holders(others, 0));
  EXPECT_EQ(calls_.calls(), seen) << "called after its end";
  second.reset();
  call_counter anew;
  const auto third = bystander().watch("stock", anew.counting());
  const auto again = mutex{one(), "stock"}.acquire();
  EXPECT_TRUE(leads_to_holders(anew, 1));
  EXPECT_EQ(calls_.calls(), seen) << "called after its end";
}

TEST_P(watching, a_name_that_does_not_exist_makes_nothing) {
  const auto watch = bystander().watch("stock", calls_.counting());
  EXPECT_TRUE(calls_.comes_after(0));
  EXPECT_TRUE(bystander().list(true).empty());
  const auto held = mutex{one(), "stock"}.acquire();
  EXPECT_TRUE(leads_to_holders(calls_, 1));
}

TEST_P(watching, needs_a_name_and_a_function) {
  EXPECT_THROW((void)one().watch("", [] {}), error);
  EXPECT_THROW((void)one().watch("a\nb", [] {}), error);
  EXPECT_THROW((void)one().watch("stock", nullptr), error);
}

HOLDFAST_ON_EACH_STORE(watching, any_store);

}  // namespace
}  // namespace holdfast::contract
