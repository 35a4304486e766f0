// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <set>
#include <string>
#include <system_error>

#include <holdfast/error.hpp>

namespace holdfast {
namespace {

TEST(errors, have_one_category_and_a_text_each) {
  EXPECT_STREQ(category().name(), "holdfast");
  std::set<std::string> texts;
  for (int value = static_cast<int>(errc::timeout); value <= static_cast<int>(errc::closed); ++value) {
    const std::error_code code{value, category()};
    EXPECT_TRUE(code);
    EXPECT_TRUE(texts.insert(code.message()).second) << "said twice: " << code.message();
    EXPECT_THAT(code.message(), testing::Not(testing::HasSubstr("unknown error"))) << value;
  }
  EXPECT_EQ(category().message(9999), "unknown error 9999");
}

TEST(errors, are_codes_that_compare_with_the_enumeration) {
  const std::error_code code = errc::lost;
  EXPECT_EQ(code, errc::lost);
  EXPECT_NE(code, errc::timeout);
  EXPECT_NE(code, std::error_code(static_cast<int>(errc::lost), std::generic_category()));
}

TEST(errors, mean_what_the_standard_means_by_theirs) {
  EXPECT_EQ(make_error_code(errc::timeout), std::errc::timed_out);
  EXPECT_EQ(make_error_code(errc::not_owner), std::errc::operation_not_permitted);
  EXPECT_EQ(make_error_code(errc::invalid_name), std::errc::invalid_argument);
  EXPECT_EQ(make_error_code(errc::permission_denied), std::errc::permission_denied);
  EXPECT_EQ(make_error_code(errc::cancelled), std::errc::operation_canceled);
  EXPECT_NE(make_error_code(errc::lost), std::errc::timed_out);
}

TEST(errors, are_thrown_with_code_and_sentence) {
  try {
    throw error{errc::unavailable, "mutex::lock: 'stock' on sqlite:/srv/locks.db"};
  } catch (const std::system_error& failed) {
    EXPECT_EQ(failed.code(), errc::unavailable);
    EXPECT_THAT(failed.what(), testing::AllOf(testing::HasSubstr("'stock' on sqlite:/srv/locks.db"),
                                              testing::HasSubstr("the store is unavailable")));
    const auto& ours = dynamic_cast<const error&>(failed);
    EXPECT_EQ(ours.detail(), "mutex::lock: 'stock' on sqlite:/srv/locks.db");
  }
}

TEST(errors, say_the_text_of_their_code_once) {
  const error cause{errc::exhausted, "cannot create a thread"};
  const error failed{errc::exhausted, std::string{"cannot open the client: "} + cause.what()};
  EXPECT_STREQ(failed.what(), "cannot open the client: cannot create a thread: out of resources");
  EXPECT_EQ(failed.detail(), "cannot open the client: cannot create a thread");
}

}  // namespace
}  // namespace holdfast
