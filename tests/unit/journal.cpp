// SPDX-License-Identifier: Apache-2.0
// The journal of a client: what it counts, how it measures, and what it does with an observer that is slow.

#include "core/journal.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using events::counter;
using events::journal;

/// Runs what the journal leaves for later when the test says so.
class journals : public testing::Test {
 protected:
  void observe(std::function<void(const event&)> observer) {
    book.observe(std::move(observer),
                 [this](std::function<void()> turn) { turns.push_back(std::move(turn)); });
  }
  void run_one_turn() {
    const auto turn = std::move(turns.front());
    turns.pop_front();
    turn();
  }
  void run() {
    while (!turns.empty()) run_one_turn();
  }
  void tell(const std::string& name) {
    book.tell(event_kind::granted, [&](event& e) { e.name = name; });
  }
  std::vector<std::string> names;
  std::vector<std::uint64_t> drops;
  std::function<void(const event&)> remember = [this](const event& e) {
    names.push_back(e.name);
    drops.push_back(e.dropped);
  };

  std::deque<std::function<void()>> turns;
  journal book;
};

TEST_F(journals, describe_nothing_that_nobody_observes) {
  int described = 0;
  book.tell(event_kind::granted, [&](event&) { ++described; });
  observe(nullptr);
  book.tell(event_kind::granted, [&](event&) { ++described; });
  EXPECT_EQ(described, 0);
  EXPECT_FALSE(book.is_observed());
  EXPECT_TRUE(turns.empty());
}

TEST_F(journals, tell_events_later_and_in_order) {
  observe(remember);
  const auto before = boot_clock::now();
  boot_clock::time_point at{};
  event_kind kind{};
  tell("a");
  tell("b");
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(turns.size(), 1U) << "one delivery is under way";
  run();
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  remember = nullptr;
  journal other;
  other.observe(
      [&](const event& e) {
        at = e.at;
        kind = e.kind;
      },
      [](const std::function<void()>& turn) { turn(); });
  other.tell(event_kind::lost, [](event&) {});
  EXPECT_GE(at, before);
  EXPECT_EQ(kind, event_kind::lost);
}

TEST_F(journals, give_other_callbacks_their_turn) {
  observe(remember);
  for (int i = 0; i < 200; ++i) tell("a");
  run_one_turn();
  EXPECT_LT(names.size(), 200U);
  EXPECT_EQ(turns.size(), 1U);
  run();
  EXPECT_EQ(names.size(), 200U);
}

TEST_F(journals, drop_what_a_slow_observer_has_no_room_for_and_say_so) {
  observe(remember);
  for (std::size_t i = 0; i < journal::capacity + 3; ++i) tell("early");
  EXPECT_EQ(book.statistics().events_dropped, 3U);
  run();
  EXPECT_EQ(names.size(), journal::capacity);
  tell("late");
  tell("later");
  run();
  ASSERT_EQ(drops.size(), journal::capacity + 2);
  EXPECT_EQ(drops.front(), 0U);
  EXPECT_EQ(drops[journal::capacity], 3U);
  EXPECT_EQ(drops.back(), 0U);
  EXPECT_EQ(book.statistics().events_dropped, 3U);
}

TEST_F(journals, end_after_all_events_were_told) {
  book.observe(remember, [this](std::function<void()> turn) { turns.push_back(std::move(turn)); });
  tell("a");
  std::jthread callbacks{[this] { run(); }};
  book.end(std::chrono::steady_clock::now() + 100s);
  EXPECT_EQ(names, std::vector<std::string>{"a"});
  tell("b");
  callbacks.join();
  EXPECT_TRUE(turns.empty());
  EXPECT_EQ(names.size(), 1U);
  EXPECT_EQ(book.statistics().events_dropped, 0U);
}

TEST_F(journals, may_end_twice_and_wait_each_time_for_a_call_that_runs) {
  std::promise<void> inside;
  std::promise<void> leave;
  std::atomic<bool> runs = false;
  observe([&](const event&) {
    runs = true;
    inside.set_value();
    leave.get_future().wait();
    runs = false;
  });
  tell("a");
  std::jthread callbacks{[this] { run(); }};
  inside.get_future().wait();
  const auto end = [&] {
    book.end(std::chrono::steady_clock::now());
    return runs.load();
  };
  auto first = std::async(std::launch::async, end);
  auto second = std::async(std::launch::async, end);
  (void)second.wait_for(50ms);  // it has time to return too early
  leave.set_value();
  EXPECT_FALSE(first.get());
  EXPECT_FALSE(second.get());
}

TEST_F(journals, drop_what_is_left_at_the_limit_of_their_end) {
  observe(remember);
  tell("a");
  tell("b");
  book.end(std::chrono::steady_clock::now());
  run();
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(book.statistics().events_dropped, 2U);
}

TEST_F(journals, may_be_ended_by_their_observer) {
  observe([this](const event& e) {
    names.push_back(e.name);
    book.end(std::chrono::steady_clock::now() + 100s);
  });
  tell("a");
  tell("b");
  run();
  EXPECT_EQ(names, std::vector<std::string>{"a"});
}

TEST_F(journals, count_each_kind_by_itself) {
  book.count(counter::connects);
  book.count_alone(counter::queued);
  book.count_alone(counter::queued);
  book.count_alone(events::grants_of(mode::exclusive));
  book.count_alone(events::grants_of(mode::shared));
  book.count_alone(events::grants_of(mode::permits));
  book.count_alone(counter::released);
  book.count_alone(events::losses_of(loss_reason::not_renewed));
  const client_statistics s = book.statistics();
  EXPECT_EQ(s.connects, 1U);
  EXPECT_EQ(s.queued, 2U);
  EXPECT_EQ(s.granted_exclusive, 1U);
  EXPECT_EQ(s.granted_shared, 1U);
  EXPECT_EQ(s.granted_permits, 1U);
  EXPECT_EQ(s.granted(), 3U);
  EXPECT_EQ(s.lost_not_renewed, 1U);
  EXPECT_EQ(s.lost(), 1U);
  EXPECT_EQ(s.held(), 1U);
  EXPECT_EQ(s.disconnects + s.refused + s.failed + s.withdrawn + s.renewals + s.late_renewals, 0U);
}

TEST(histograms, count_a_duration_up_to_the_bound_of_its_bucket) {
  constexpr std::size_t last = histogram::bucket_count - 1;
  EXPECT_EQ(histogram::bound(0), 16us);
  EXPECT_EQ(histogram::bound(1), 64us);
  EXPECT_EQ(histogram::bound(3), 1024us);
  for (std::size_t i = 0; i < last; ++i) {
    events::live_histogram measured;
    measured.add(histogram::bound(i));
    measured.add(histogram::bound(i) + 1us);
    const histogram read = measured.value();
    EXPECT_EQ(read.counts[i], 1U) << i;
    EXPECT_EQ(read.counts[i + 1], 1U) << i;
    EXPECT_EQ(read.count(), 2U);
    EXPECT_EQ(read.sum, 2 * histogram::bound(i) + 1us);
  }
  events::live_histogram extremes;
  extremes.add(0us);
  extremes.add(1000h);
  EXPECT_EQ(extremes.value().counts.front(), 1U);
  EXPECT_EQ(extremes.value().counts.back(), 1U);
}

TEST(event_kinds, have_names) {
  EXPECT_EQ(to_string(event_kind::connected), "connected");
  EXPECT_EQ(to_string(event_kind::renewal_late), "renewal_late");
  EXPECT_EQ(to_string(event_kind::withdrawn), "withdrawn");
  EXPECT_EQ(to_string(renewal::unknown), "unknown");
  EXPECT_EQ(to_string(loss_reason::not_renewed), "not_renewed");
  EXPECT_EQ(to_string(loss_reason::client_closed), "client_closed");
}

}  // namespace
}  // namespace holdfast::test
