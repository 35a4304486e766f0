// The pauses between the rounds in which a client looks for a server.

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

}  // namespace
}  // namespace holdfast::zookeeper
