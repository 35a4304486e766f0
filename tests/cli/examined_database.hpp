#pragma once

#include <gmock/gmock.h>
#include <string>

#include "fixture.hpp"

namespace holdfast::test {

/// `holdfast doctor` on a database server: each test breaks one condition, and sees it named.
class examined_database : public command_test {
 protected:
  /// What is said of one condition, the worst of it; fails the test where nothing is.
  json condition(const std::string& store, const std::string& name, const strings& more = {}) {
    strings arguments{"doctor", "--json", "--store", store};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto run = holdfast(arguments);
    const auto lines = parse_lines(run.out);
    if (lines.size() != 1) {
      ADD_FAILURE() << run.out << run.err;
      return {};
    }
    json found;
    for (const auto& each : lines.front()["findings"]) {
      if (each["condition"] == name && (found.is_null() || found["result"] == "kept")) found = each;
    }
    if (found.is_null()) ADD_FAILURE() << "nothing is said of " << name << ": " << run.out;
    return found;
  }
  /// It is not kept, and says what that means and what mends it.
  static void is(const json& one, const std::string& result, const std::string& observed,
                 const std::string& remedy) {
    ASSERT_TRUE(one.is_object());
    EXPECT_EQ(one["result"], result) << one;
    EXPECT_THAT(one["observed"].get<std::string>(), testing::HasSubstr(observed));
    EXPECT_THAT(one["remedy"].get<std::string>(), testing::HasSubstr(remedy));
    EXPECT_FALSE(one["meaning"].get<std::string>().empty()) << one;
  }
  static void is_kept(const json& one, const std::string& observed) {
    ASSERT_TRUE(one.is_object());
    EXPECT_EQ(one["result"], "kept") << one;
    EXPECT_THAT(one["observed"].get<std::string>(), testing::HasSubstr(observed));
    EXPECT_EQ(one["meaning"], "") << one;
  }
};

}  // namespace holdfast::test
