#pragma once

#include <gmock/gmock.h>
#include <string>

#include "fixture.hpp"

namespace holdfast::test {

/// What `holdfast doctor` says of single conditions.
class doctor_test : public command_test {
 protected:
  /// The finding of one condition, the first of that name; fails the test where there is none, or where the
  /// command ends with another status.
  json condition(const std::string& store, const std::string& name, int status, const strings& more = {}) {
    strings arguments{"doctor", "--json", "--store", store};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto run = holdfast(arguments);
    EXPECT_EQ(run.status, status) << run.out << run.err;
    const auto lines = parse_lines(run.out);
    if (lines.size() != 1) return {};
    for (const auto& each : lines.front()["findings"]) {
      if (each["condition"] == name) return each;
    }
    ADD_FAILURE() << "nothing is said of " << name << ": " << run.out;
    return {};
  }
  /// It is not kept, and the finding says what that means and what mends it.
  static void expect(const json& one, const std::string& result, const std::string& observed) {
    ASSERT_TRUE(one.is_object());
    EXPECT_EQ(one["result"], result) << one;
    EXPECT_THAT(one["observed"].get<std::string>(), testing::HasSubstr(observed));
    EXPECT_FALSE(one["meaning"].get<std::string>().empty()) << one;
    EXPECT_FALSE(one["remedy"].get<std::string>().empty()) << one;
  }
};

}  // namespace holdfast::test
