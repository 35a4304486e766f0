// SPDX-License-Identifier: Apache-2.0
// Lists as Apache's client library hands them over.

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "stores/zookeeper/link/handle.hpp"

namespace holdfast::zookeeper {
namespace {

TEST(zookeeper_listed_names, are_taken_in_their_order) {
  const std::array<const char*, 2> names{"b", "a"};
  EXPECT_EQ(listed_names(names.data(), 2), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(listed_names(nullptr, 0), std::vector<std::string>{});
}

TEST(zookeeper_listed_names, of_a_reply_that_ends_too_soon_are_none) {
  const std::array<const char*, 3> names{"a", nullptr, nullptr};
  EXPECT_FALSE(listed_names(names.data(), 3));
}

TEST(zookeeper_listed_names, of_a_list_with_an_impossible_count_are_none) {
  EXPECT_FALSE(listed_names(nullptr, -1));
  EXPECT_FALSE(listed_names(nullptr, 7));
}

}  // namespace
}  // namespace holdfast::zookeeper
