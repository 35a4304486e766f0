// SPDX-License-Identifier: Apache-2.0
#include "base/numbered.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>

namespace holdfast {
namespace {

TEST(numbered, has_what_a_map_would_have) {
  constexpr std::uint64_t most = 64;
  numbered<std::unique_ptr<int>> all;
  std::map<std::uint64_t, int> model;
  std::mt19937_64 random{7};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t number = random() % most;
    if (const auto found = model.find(number); found != model.end()) {
      const auto taken = all.take_out(number);
      ASSERT_TRUE(taken);
      EXPECT_EQ(*taken, found->second);
      model.erase(found);
    } else if (random() % 4 == 0) {
      EXPECT_FALSE(all.take_out(number));
    } else if (all.first_from(number) == all.end() || all.first_from(number)->number != number) {
      all.add(number, std::make_unique<int>(i));
      model.emplace(number, i);
    }
    EXPECT_EQ(all.size(), model.size());
    EXPECT_EQ(all.contains(number), model.contains(number));
    auto each = all.first_from(0);
    for (const auto& [next, value] : model) {
      while (!each->value) ++each;
      EXPECT_EQ(each->number, next);
      EXPECT_EQ(*each->value, value);
      ++each;
    }
  }
}

}  // namespace
}  // namespace holdfast
