// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>

#include <holdfast/options.hpp>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(durations, have_a_number_and_a_unit) {
  EXPECT_EQ(parse_duration("250us"), 250us);
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("5m"), 5min);
  EXPECT_EQ(parse_duration("5min"), 5min);
  EXPECT_EQ(parse_duration("12h"), 12h);
  EXPECT_EQ(parse_duration("7d"), 7 * 24h);
  EXPECT_EQ(parse_duration("0ms"), 0s);
}

TEST(durations, have_several_parts) {
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("1d1m"), 24h + 1min);
  EXPECT_EQ(parse_duration("1s500ms"), 1500ms);
}

TEST(durations, without_a_unit_are_seconds) {
  EXPECT_EQ(parse_duration("30"), 30s);
  EXPECT_EQ(parse_duration("0"), 0s);
  EXPECT_EQ(parse_duration("0.25"), 250ms);
}

TEST(durations, have_fractions_down_to_microseconds) {
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("1.1s"), 1100ms);
  EXPECT_EQ(parse_duration(".5h"), 30min);
  EXPECT_EQ(parse_duration("1.5m.5s"), 90500ms);
  EXPECT_EQ(parse_duration("0.0000019s"), 1us);
}

TEST(durations, are_refused_where_their_meaning_is_not_clear) {
  for (const std::string_view text : {"", "soon", "s", ".", ".s", "1.2.3s", "1h30", "30 s", " 30s", "30s ",
                                      "-1s", "+1s", "1e3s", "1y", "0x10", "1h-30m", "1S"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(durations, end_at_a_hundred_years) {
  EXPECT_EQ(parse_duration("36500d"), 24h * 36500);
  EXPECT_EQ(parse_duration("36500d1us"), std::nullopt);
  EXPECT_EQ(parse_duration("3153600000"), 24h * 36500);
  EXPECT_EQ(parse_duration("3153600001"), std::nullopt);
  EXPECT_EQ(parse_duration(std::string(400, '9') + "d"), std::nullopt);
  EXPECT_EQ(parse_duration(std::string(400, '9')), std::nullopt);
  EXPECT_EQ(parse_duration("0." + std::string(400, '9') + "s"), 999999us);
}

}  // namespace
}  // namespace holdfast
