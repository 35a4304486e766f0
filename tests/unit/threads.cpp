// SPDX-License-Identifier: Apache-2.0
// A client for which the system has no thread.

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <new>

#include "holdfast/client.hpp"
#include "holdfast/error.hpp"
#include "holdfast/mutex.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/signals.hpp"
#include "stores/memory/link/link.hpp"
#include "support/failing.hpp"
#include "unit/no_threads.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(threads, that_cannot_be_made_are_an_error_of_ours) {
  const test::no_threads none;
  const auto failed = test::failure_of([] { runtime::quiet_thread([] {}).join(); });
  EXPECT_EQ(failed.code, errc::exhausted) << failed.text;
}

TEST(threads, that_cannot_be_made_are_reported_when_a_client_is_made) {
  const test::no_threads none;
  const auto failed = test::failure_of([] { const client locks{"memory:"}; });
  EXPECT_EQ(failed.code, errc::exhausted) << failed.text;
}

// As a link, the bytes that are written over it are one that is watched, by no loop.
TEST(threads, that_cannot_be_made_leave_no_link_in_a_table_of_the_process) {
  client others{"memory:threads"};
  runtime::event_loop loop;
  alignas(memory::link) std::array<std::byte, sizeof(memory::link)> place{};
  {
    const test::no_threads none;
    EXPECT_THROW(static_cast<void>(new (place.data()) memory::link{loop, "threads"}), error);
  }
  place.fill(std::byte{1});
  EXPECT_TRUE(mutex(others, "stock").try_lock());  // which every link of the table hears of
}

TEST(threads, are_there_for_the_first_callback_of_a_client) {
  client locks{"memory:"};
  mutex lock{locks, "stock", lock_options{}.ttl(100ms).renewal(false)};
  const test::no_threads none;
  auto held = lock.acquire();
  const auto token = held.lost();
  const auto lost = std::make_shared<std::promise<bool>>();
  held.on_lost([lost, token](std::error_code) { lost->set_value(token.stop_requested()); });
  auto result = lost->get_future();
  ASSERT_EQ(result.wait_for(30s), std::future_status::ready);
  EXPECT_TRUE(result.get());
}

TEST(threads, are_not_needed_to_end_a_client_in_its_own_callback) {
  auto locks = std::make_unique<client>("memory:");
  auto lock = std::make_unique<mutex>(*locks, "stock", lock_options{}.ttl(100ms).renewal(false));
  auto held = lock->acquire();
  std::promise<void> done;
  const test::no_threads none;
  held.on_lost([&](std::error_code) {
    lock.reset();
    locks.reset();
    done.set_value();
  });
  EXPECT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
}

}  // namespace
}  // namespace holdfast
