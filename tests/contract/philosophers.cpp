// SPDX-License-Identifier: Apache-2.0
// Sets of two names that many share.

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

class philosophers : public on_each_store {};

// Dijkstra's philosophers, ten at each of the five places: each eats as often as it wants to.
TEST_P(philosophers, all_eat) {
  constexpr int forks = 5;
  constexpr int guests = 50;
  constexpr int meals = 4;
  std::atomic<int> eaten{0};
  std::array<int, forks> use{};  // not atomic: the forks protect it
  const std::array<client*, 2> clients{&one(), &two()};
  {
    std::vector<std::jthread> table;
    for (int each = 0; each < guests; ++each) {
      table.emplace_back([&, each] {
        const int left = each % forks;
        const int right = (each + 1) % forks;
        client& locks = *clients.at(each / forks % 2);
        lock_set both{locks, {"fork " + std::to_string(left), "fork " + std::to_string(right)}};
        for (int meal = 0; meal < meals; ++meal) {
          const std::scoped_lock guard{both};
          ++use.at(left);
          ++use.at(right);
          ++eaten;
        }
      });
    }
  }
  EXPECT_EQ(eaten, guests * meals);
  for (const int each : use) EXPECT_EQ(each, 2 * guests / forks * meals);
}

HOLDFAST_ON_EACH_STORE(philosophers, any_store);

}  // namespace
}  // namespace holdfast::contract
