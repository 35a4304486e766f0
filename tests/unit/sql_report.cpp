// What `holdfast doctor` says of any database server, where the server says what no real one does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "runtime/measurement.hpp"
#include "stores/sql/protocol/report.hpp"

namespace holdfast::sql {
namespace {

using std::chrono::microseconds;

TEST(sql_report, takes_any_clock) {
  for (const auto there : {microseconds::min(), microseconds::max()}) {
    report found{"db"};
    found.add_clock(there);
    found.add_clock(runtime::clock_ahead([&] { return there; }));
    for (const finding& each : std::move(found).take()) {
      EXPECT_EQ(each.result, finding::grade::warning) << each.observed;
      EXPECT_THAT(each.observed, testing::HasSubstr(there.count() > 0 ? " ahead of" : " behind"));
    }
  }
}

TEST(sql_report, takes_any_number_of_connections) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  report found{"db"};
  found.add_connections(most - 1, most, "more");
  found.add_connections(1, most, "more");
  const auto all = std::move(found).take();
  EXPECT_EQ(all.at(0).result, finding::grade::warning);
  EXPECT_EQ(all.at(1).result, finding::grade::kept);
  EXPECT_FALSE(is_nearly_full(1, 0));
}

}  // namespace
}  // namespace holdfast::sql
