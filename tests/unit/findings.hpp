#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "holdfast/diagnosis.hpp"

namespace holdfast::test {

/// The one finding that is not kept; fails the test where there are more, or none, or where it says too
/// little.
inline finding only_broken(std::vector<finding> all) {
  std::erase_if(all, [](const finding& each) { return each.result == finding::grade::kept; });
  EXPECT_EQ(all.size(), 1U);
  if (all.size() != 1) return {};
  EXPECT_FALSE(all.front().meaning.empty());
  EXPECT_FALSE(all.front().remedy.empty());
  return all.front();
}

}  // namespace holdfast::test
