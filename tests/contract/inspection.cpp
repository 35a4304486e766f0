// SPDX-License-Identifier: Apache-2.0
// What people are shown: inspect, list, watch.

#include <atomic>
#include <unistd.h>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::SizeIs;

class inspection : public on_each_store {
 protected:
  static std::vector<std::string> names(const std::vector<lock_summary>& list) {
    std::vector<std::string> result;
    for (const auto& line : list) result.push_back(line.name);
    return result;
  }
};

TEST_P(inspection, of_a_name_that_nobody_used_finds_nothing) {
  EXPECT_FALSE(one().inspect("stock"));
  EXPECT_TRUE(one().list().empty());
  EXPECT_TRUE(one().list(true).empty());
}

TEST_P(inspection, shows_who_holds_and_who_waits) {
  client& labelled = open(client_options{}.program("reindexer"));
  mutex lock{labelled, "stock", lock_options{}.ttl(20s).label("nightly run")};
  const auto held = lock.acquire();
  auto& waiter = in_flavour(flavour::async, two(), "stock", 1, lock_options{}.label("patient"));
  auto first = waiter.start(shared);
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  auto second = waiter.start(exclusive);
  ASSERT_TRUE(look().sees_waiters("stock", 2));

  const auto state = inspect("stock");
  EXPECT_EQ(state.name, "stock");
  EXPECT_EQ(state.capacity, 0);
  EXPECT_GE(state.last_token, held.token()) << "waiters may have drawn theirs already";
  ASSERT_THAT(state.holders, SizeIs(1));
  const auto& holder = state.holders[0];
  EXPECT_THAT(holder.owner, testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_THAT(holder.owner, SizeIs(32));
  EXPECT_EQ(holder.mode, mode::exclusive);
  EXPECT_EQ(holder.token, held.token());
  EXPECT_GE(holder.age, 0s);
  EXPECT_GT(holder.expires_in, 0s);
  EXPECT_LE(holder.expires_in, 20s);
  EXPECT_EQ(holder.claimant.program, "reindexer");
  EXPECT_EQ(holder.claimant.label, "nightly run");
  EXPECT_EQ(holder.claimant.pid, ::getpid());
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  EXPECT_EQ(holder.claimant.host, host);

  ASSERT_THAT(state.waiters, SizeIs(2));
  EXPECT_EQ(state.waiters[0].mode, mode::shared);
  EXPECT_EQ(state.waiters[1].mode, mode::exclusive);
  EXPECT_EQ(state.waiters[0].claimant.label, "patient");
  EXPECT_NE(state.waiters[0].owner, state.waiters[1].owner);

  const auto first_of_them = bystander().inspect("stock", 1).value_or(lock_state{});
  EXPECT_THAT(first_of_them.holders, SizeIs(1));
  ASSERT_THAT(first_of_them.waiters, SizeIs(1));
  EXPECT_EQ(first_of_them.waiters[0].owner, state.waiters[0].owner);
  const auto none_of_them = bystander().inspect("stock", 0).value_or(lock_state{});
  EXPECT_THAT(none_of_them.holders, SizeIs(1));
  EXPECT_THAT(none_of_them.waiters, testing::IsEmpty());
}

TEST_P(inspection, shows_permits_and_their_capacity) {
  HOLDFAST_NEEDS_PERMITS();
  counting_semaphore seats{one(), "seats", 5};
  const auto two_seats = seats.acquire_permits(2);
  const auto three_seats = seats.acquire_permits(3);
  // Whoever has just got them may still be in the queue for them.
  ASSERT_TRUE(look().sees_holders("seats", 2));
  const auto state = inspect("seats");
  EXPECT_EQ(state.capacity, 5);
  EXPECT_THAT(state.holders, ElementsAre(Field(&claim_state::permits, 2), Field(&claim_state::permits, 3)));
  EXPECT_EQ(state.last_token, three_seats.token());

  const auto list = bystander().list();
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].mode, mode::permits);
  EXPECT_EQ(list[0].capacity, 5);
  EXPECT_EQ(list[0].holders, 2U);
}

TEST_P(inspection, lists_what_is_held_or_waited_for_by_the_bytes_of_names) {
  const std::vector<std::string> wanted{"B", "a", "a/b", "b", "\u00e4"};
  std::vector<lease> held;
  for (const auto* name : {"b", "a/b", "\u00e4", "a", "B"}) held.push_back(mutex{one(), name}.acquire());
  auto waiting = in_flavour(flavour::async, two(), "b", 1, {}).start(exclusive);
  ASSERT_TRUE(look().sees_waiters("b", 1));

  const auto list = bystander().list();
  EXPECT_EQ(names(list), wanted);
  EXPECT_EQ(list[3].mode, mode::exclusive);
  EXPECT_EQ(list[3].holders, 1U);
  EXPECT_EQ(list[3].waiters, 1U);
  EXPECT_GE(list[3].last_token, held[0].token());
  EXPECT_EQ(list[3].holder.pid, ::getpid());
  EXPECT_GE(list[3].held_for, 0s);
  EXPECT_EQ(list[0].waiters, 0U);
}

TEST_P(inspection, lists_idle_names_on_request) {
  auto held = mutex{one(), "stock"}.acquire();
  const auto token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(bystander().list().empty());
  const auto idle = bystander().list(true);
  ASSERT_THAT(idle, SizeIs(1));
  EXPECT_EQ(idle[0].name, "stock");
  EXPECT_EQ(idle[0].holders, 0U);
  // Where nothing is kept of a released hold, the last that is known came later.
  if (GetParam().keeps_sessions) {
    EXPECT_GE(idle[0].last_token, token);
  } else {
    EXPECT_EQ(idle[0].last_token, token);
  }
  EXPECT_EQ(idle[0].held_for, 0s);
}

TEST_P(inspection, does_not_show_what_has_expired) {
  mutex lock{one(), "stock", lock_options{}.ttl(300ms).renewal(false)};
  const auto held = insist([&] { return lock.acquire(); });
  EXPECT_TRUE(look().sees_holders("stock", 0));
  EXPECT_TRUE(bystander().list().empty());
}

TEST_P(inspection, watch_tells_of_changes_until_its_handle_is_gone) {
  std::mutex guard;
  std::condition_variable called;
  int calls = 0;
  const auto next_call = [&](int seen) {
    std::unique_lock held{guard};
    return called.wait_for(held, 60s, [&] { return calls > seen; });
  };
  const auto calls_so_far = [&] {
    const std::lock_guard held{guard};
    return calls;
  };
  auto watch = bystander().watch([&] {
    const std::lock_guard held{guard};
    ++calls;
    called.notify_all();
  });
  EXPECT_TRUE(next_call(0)) << "not told once at the beginning";

  auto held = mutex{one(), "stock"}.acquire();
  const auto reached = [&](std::size_t holders) {
    for (int seen = calls_so_far(); inspect("stock").holders.size() != holders; seen = calls_so_far()) {
      if (!next_call(seen)) return false;
    }
    return true;
  };
  EXPECT_TRUE(reached(1));
  int seen = calls_so_far();
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(next_call(seen)) << "not told of the release";

  watch.reset();
  seen = calls_so_far();
  std::atomic<int> others{0};
  const auto second = bystander().watch([&] { ++others; });
  const auto again = mutex{one(), "stock"}.acquire();
  EXPECT_TRUE(look().sees([&] { return others > 0; }));
  EXPECT_EQ(calls_so_far(), seen) << "told after its handle was gone";
}

TEST_P(inspection, watch_calls_once_for_all_that_happens_during_a_call) {
  std::promise<void> go_on;
  std::atomic<int> calls{0};
  const auto watch = bystander().watch([&, free = go_on.get_future().share()] {
    ++calls;
    free.wait();
  });
  EXPECT_TRUE(look().sees([&] { return calls > 0; }));
  constexpr int changes = 20;
  for (int each = 0; each < changes; ++each) {
    EXPECT_FALSE(mutex(one(), "stock").acquire().release());
    std::this_thread::sleep_for(10ms);  // longer than what counts as one burst
  }
  go_on.set_value();
  EXPECT_TRUE(look().sees([&] { return calls > 1; }));
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(calls, changes / 2);
}

HOLDFAST_ON_EACH_STORE(inspection, any_store);

}  // namespace
}  // namespace holdfast::contract
