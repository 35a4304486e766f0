// SPDX-License-Identifier: Apache-2.0
// How long a client that looks for a server waits for each, and between the rounds.

#include <chrono>
#include <gtest/gtest.h>

#include "stores/zookeeper/link/settings.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

TEST(zookeeper_pauses, between_rounds_of_connecting_are_not_the_same_for_all) {
  EXPECT_EQ(spread(500ms, 0), 250ms);
  EXPECT_EQ(spread(500ms, 500), 750ms);
  EXPECT_EQ(spread(500ms, 501), 250ms);
  EXPECT_EQ(spread(0ms, 12345), 0ms);
}

TEST(zookeeper_pauses, of_long_sessions_are_short_nevertheless) {
  EXPECT_EQ(spread(24min, 0), 500ms);
  EXPECT_EQ(spread(24min, 1000), 1500ms);
}

TEST(zookeeper_pauses, patience_grows_with_servers_that_do_not_answer_and_has_a_limit) {
  EXPECT_EQ(patience_with_each(1500ms, 3, 0, false), 500ms);
  EXPECT_EQ(patience_with_each(1500ms, 3, 2, false), 500ms) << "the same for each of a round";
  EXPECT_EQ(patience_with_each(1500ms, 3, 3, false), 1s);
  EXPECT_EQ(patience_with_each(150ms, 3, 0, false), 100ms);
  for (const bool is_reached : {false, true}) {
    const auto longest = is_reached ? 30s : 2s;
    EXPECT_EQ(patience_with_each(10s, 3, 1000, is_reached), longest);
    EXPECT_EQ(patience_with_each(1h, 1, 0, is_reached), longest);
  }
}

}  // namespace
}  // namespace holdfast::zookeeper
