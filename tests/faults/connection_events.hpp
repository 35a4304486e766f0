#pragma once

#include <gmock/gmock.h>
#include <string>

#include "faults/faults.hpp"
#include "support/event_log.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {

/// The log of a client that has connected through the line tells of that, of the end of the connection, and
/// of the next one.
inline void expect_break_and_return(const test::event_log& log, test::fault_proxy& line) {
  const std::string place = "127.0.0.1:" + std::to_string(line.port());
  const auto connected = log.await(event_kind::connected);
  ASSERT_TRUE(connected);
  EXPECT_THAT(connected->text, testing::HasSubstr(place));
  EXPECT_FALSE(connected->code);
  EXPECT_TRUE(connected->name.empty());

  line.cut_all(test::ending::reset);
  const auto disconnected = log.await(event_kind::disconnected);
  ASSERT_TRUE(disconnected);
  EXPECT_THAT(disconnected->text, testing::HasSubstr(place));
  EXPECT_EQ(disconnected->code, errc::unavailable);
  EXPECT_TRUE(
      log.await([&](const event& e) { return e.kind == event_kind::connected && e.at > disconnected->at; }));
}

}  // namespace holdfast::faults
