// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <future>
#include <limits>

#include "faults/faults.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {

/// How many scripts a server has carried out from a release until the next client held, in the best of some
/// hand-overs: a waiter may look at any time. One is the release.
[[nodiscard]] inline std::int64_t fewest_scripts_of_a_hand_over(test::redis_server& server, client& locks,
                                                                client& others) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < 20 && fewest > 1; ++round) {
    auto held = mutex{locks, "stock"}.acquire();
    auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
    expect_waiter(locks);
    const std::int64_t before = server.calls("evalsha");
    EXPECT_FALSE(held.release());
    auto then = next.get();
    fewest = std::min(fewest, server.calls("evalsha") - before);
    EXPECT_FALSE(then.release());
  }
  return fewest;
}

}  // namespace holdfast::faults
