// SPDX-License-Identifier: Apache-2.0
#include "named_requirements.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <type_traits>

#include <holdfast/holdfast.hpp>

namespace holdfast {
namespace {

using namespace test;

// The concepts are worth what they say of the standard's own types …
static_assert(timed_lockable<std::timed_mutex> && !timed_lockable<std::mutex> && lockable<std::mutex>);
static_assert(shared_timed_lockable<std::shared_timed_mutex> && !shared_timed_lockable<std::shared_mutex>);
static_assert(counting<std::counting_semaphore<>> && !counting<std::mutex> &&
              !lockable<std::counting_semaphore<>>);
static_assert(stays_put<std::mutex> && !stays_put<std::unique_lock<std::mutex>>);

// … and then of ours.
static_assert(timed_lockable<mutex>);
static_assert(timed_lockable<recursive_mutex>);
static_assert(timed_lockable<shared_mutex>);
static_assert(shared_timed_lockable<shared_mutex>);
static_assert(!shared_lockable<mutex> && !shared_lockable<recursive_mutex>);
static_assert(counting<counting_semaphore>);
static_assert(stays_put<mutex> && stays_put<recursive_mutex> && stays_put<shared_mutex> &&
              stays_put<counting_semaphore>);

// More than the standard asks: giving back never throws.
static_assert(noexcept(std::declval<mutex&>().unlock()) &&
              noexcept(std::declval<recursive_mutex&>().unlock()) &&
              noexcept(std::declval<shared_mutex&>().unlock()) &&
              noexcept(std::declval<shared_mutex&>().unlock_shared()) &&
              noexcept(std::declval<counting_semaphore&>().release()));

// A lease is handed on, never doubled.
static_assert(std::is_nothrow_default_constructible_v<lease>);
static_assert(std::is_nothrow_move_constructible_v<lease> && std::is_nothrow_move_assignable_v<lease>);
static_assert(!std::is_copy_constructible_v<lease> && !std::is_copy_assignable_v<lease>);
static_assert(std::is_nothrow_move_constructible_v<client> && !std::is_copy_constructible_v<client>);
static_assert(noexcept(std::declval<lease&>().release()) && noexcept(std::declval<const lease&>().held()));

// A number is not a token by accident, and tokens are compared over the whole range.
static_assert(!std::is_convertible_v<std::uint64_t, fencing_token>);
static_assert(!std::is_convertible_v<fencing_token, std::uint64_t> &&
              !std::is_convertible_v<fencing_token, bool>);
static_assert(sizeof(fencing_token) == sizeof(std::uint64_t) && !fencing_token{} && fencing_token{1});
static_assert(fencing_token{1} < fencing_token{std::uint64_t{1} << 63});
static_assert(fencing_token{std::uint64_t{1} << 53} < fencing_token{(std::uint64_t{1} << 53) + 1});

// Only what looks at it may look at a const lock.
static_assert(!basic_lockable<const mutex> && !counting<const counting_semaphore>);

TEST(limits, of_any_unit_are_rounded_up_and_bounded) {
  using namespace std::chrono_literals;
  EXPECT_EQ(detail::to_limit(1ns), 1us);
  EXPECT_EQ(detail::to_limit(1001ns), 2us);
  EXPECT_EQ(detail::to_limit(3h), 3h);
  EXPECT_EQ(detail::to_limit(std::chrono::duration<double>{0.25}), 250ms);
  EXPECT_EQ(detail::to_limit(-5s), 0s);
  using hours = std::chrono::time_point<std::chrono::steady_clock, std::chrono::hours>;
  EXPECT_EQ(detail::time_left(hours::max()), detail::longest_limit);
  EXPECT_EQ(detail::time_left(hours::min()), 0s);
  EXPECT_EQ(detail::time_left(std::chrono::steady_clock::time_point::max()), detail::longest_limit);
  EXPECT_EQ(detail::to_limit(std::chrono::hours::max()), detail::to_limit(std::chrono::nanoseconds::max()));
  EXPECT_GT(detail::to_limit(std::chrono::hours::max()), std::chrono::years{99});
}

struct jumping_clock {
  using duration = std::chrono::seconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<jumping_clock>;
  static time_point now() { return time_point{std::chrono::seconds{seconds}}; }
  static inline int seconds = 0;
};

TEST(limits, by_a_clock_that_is_set_while_we_wait_are_asked_again) {
  using namespace std::chrono_literals;
  std::vector<duration> waits;
  const bool got = detail::until(jumping_clock::time_point{10s}, {}, [&](duration left) {
    waits.push_back(left);
    // The first wait ends early by this clock, which somebody has put back.
    jumping_clock::seconds = waits.size() == 1 ? 4 : 10;
    return false;
  });
  EXPECT_FALSE(got);
  EXPECT_EQ(waits, (std::vector<duration>{10s, 6s}));
}

TEST(limits, by_a_clock_are_asked_again_only_until_a_stop) {
  using namespace std::chrono_literals;
  std::stop_source stop;
  int attempts = 0;
  const bool got = detail::until(std::chrono::steady_clock::now() + 1h, stop.get_token(), [&](duration) {
    ++attempts;
    stop.request_stop();
    return false;
  });
  EXPECT_FALSE(got);
  EXPECT_EQ(attempts, 1);
}

TEST(limits, far_in_the_past_or_future_do_not_overflow) {
  using clock = std::chrono::system_clock;
  EXPECT_EQ(detail::time_left(clock::time_point::min()), duration::zero());
  EXPECT_EQ(detail::time_left(clock::now()), duration::zero());
  EXPECT_GT(detail::time_left(clock::time_point::max()), std::chrono::years{99});
}

}  // namespace
}  // namespace holdfast
