// SPDX-License-Identifier: Apache-2.0
#include "contract/stores.hpp"

#include <algorithm>
#include <gmock/gmock.h>

#include <holdfast/client.hpp>

namespace holdfast::contract {

std::vector<store_kind>& store_kinds() {
  static std::vector<store_kind> kinds;  // here, because files register before main() in any order
  return kinds;
}

test_on::test_on(store_kind kind) { store_kinds().push_back(std::move(kind)); }

namespace {

std::vector<std::string> tested_schemes() {
  std::vector<std::string> result;
  for (const auto& kind : store_kinds()) result.push_back(kind.scheme);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

TEST(contract, is_tested_on_every_store_of_this_build) {
  std::vector<std::string> built;
  for (const auto scheme : schemes()) built.emplace_back(scheme);
  EXPECT_THAT(tested_schemes(), testing::UnorderedElementsAreArray(built))
      << "a store needs a file with a contract::test_on in tests/contract";
}

}  // namespace
}  // namespace holdfast::contract
