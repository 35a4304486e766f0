// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <gtest/gtest.h>
#include <limits>

#include "output/table.hpp"

namespace holdfast::cli {
namespace {

/// In seconds of this thread's processor: the machine's other work does not count.
double processor_time() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What a table of so many rows costs; the least of a few, since caches and frequencies vary.
double cost(int rows) {
  table listing{{{"NAME"}, {"HOLDER"}, {"AGE", column::side::right}}};
  for (int i = 0; i < rows; ++i)
    listing.add({"nightly", "host-" + std::to_string(i), std::to_string(i) + "s"});
  auto least = std::numeric_limits<double>::max();
  for (int round = 0; round < 3; ++round) {
    const auto began = processor_time();
    EXPECT_EQ(std::ranges::count(listing.text(palette{stdout}), '\n'), rows + 1);
    least = std::min(least, processor_time() - began);
  }
  return least;
}

TEST(tables, cost_in_proportion_to_their_rows) {
  constexpr int times = 16;
  const double few = cost(50);
  // Rows whose widths were measured for each line again would cost 256 times as much.
  EXPECT_LT(cost(times * 50) / few, 4 * times);
}

TEST(tables, cut_the_first_column_and_then_the_lines_to_fit) {
  const palette plain{nullptr};
  table listing{{{"NAME"}, {"N", column::side::right}, {"HOLDER"}}};
  listing.add({"a-name-of-thirty-columns-in-all", "1", "somebody"});
  listing.add({"b", "22", "x"});
  const auto whole = listing.text(plain);
  listing.fit(50);
  EXPECT_EQ(listing.text(plain), whole) << "there is room";
  listing.fit(34);
  EXPECT_EQ(listing.text(plain),
            "NAME                   N  HOLDER\n"
            "a-name-of-thirty-co…   1  somebody\n"
            "b                     22  x\n");
  listing.fit(24);
  EXPECT_EQ(listing.text(plain),
            "NAME               N  H…\n"
            "a-name-of-thirt…   1  s…\n"
            "b                 22  x\n");
}

}  // namespace
}  // namespace holdfast::cli
