// SPDX-License-Identifier: Apache-2.0
#include "runtime/connector.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <poll.h>
#include <thread>

#include "runtime/event_loop.hpp"

namespace holdfast::test {
namespace {

bool can_be_read(int descriptor) {
  pollfd fd{descriptor, POLLIN, 0};
  return ::poll(&fd, 1, 0) == 1;
}

TEST(connector, the_first_try_is_due_at_once) {
  runtime::event_loop loop;
  runtime::connector connector{loop};
  connector.await_turn();
  EXPECT_FALSE(connector.is_stopping());
  EXPECT_FALSE(can_be_read(connector.stop_descriptor()));
}

TEST(connector, a_hurry_ends_a_pause_of_any_length) {
  runtime::event_loop loop;
  runtime::connector connector{loop};
  std::atomic<int> tries = 0;
  std::jthread trying{[&] {
    while (!connector.is_stopping()) {
      connector.await_turn();  // the pauses grow to a second
      ++tries;
    }
  }};
  const auto begin = std::chrono::steady_clock::now();
  for (int seen = 0; seen < 1000; seen = tries) connector.hurry();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{60});
  connector.stop();
}

TEST(connector, a_stop_ends_a_pause_of_any_length) {
  runtime::event_loop loop;
  runtime::connector connector{loop};
  std::jthread tries{[&] {
    while (!connector.is_stopping()) connector.await_turn();  // the pauses grow
  }};
  connector.stop();
  tries.join();
  EXPECT_TRUE(can_be_read(connector.stop_descriptor()));
}

}  // namespace
}  // namespace holdfast::test
