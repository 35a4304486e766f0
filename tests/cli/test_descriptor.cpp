// SPDX-License-Identifier: Apache-2.0
// Waiting for descriptors.

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "descriptor.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST(await_any, takes_limits_that_are_longer_than_an_int_of_milliseconds) {
  for (const duration limit : {duration{(1LL << 32) * 1ms}, duration{(1LL << 32) * 1ms + 1ms}}) {
    const cli::event later;
    const std::jthread raises{[&] {
      std::this_thread::sleep_for(100ms);
      later.raise();
    }};
    cli::await_any({later.get()}, limit);
    EXPECT_TRUE(later.take()) << "it returned before its limit";
  }
}

}  // namespace
}  // namespace holdfast::test
