// SPDX-License-Identifier: Apache-2.0
// Where a request to release stands in the metadata of a hold.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "base/metadata.hpp"

namespace holdfast {
namespace {

claimant someone() {
  claimant c;
  c.host = "alpha";
  c.pid = 7;
  c.program = "backup";
  c.label = R"(a ,"release_request":"trap"})";
  c.value = "10.0.0.7:8080";
  c.value_revision = 3;
  return c;
}

TEST(release_request, is_the_last_member_and_changes_no_other) {
  const auto metadata = with_release_request(to_metadata(someone()), R"(a "reason" \ of Łódź)");
  EXPECT_TRUE(metadata.ends_with("}"));
  const auto read = from_metadata(metadata);
  EXPECT_EQ(read.release_request, R"(a "reason" \ of Łódź)");
  EXPECT_EQ(read.host, "alpha");
  EXPECT_EQ(read.pid, 7);
  EXPECT_EQ(read.label, someone().label);
  EXPECT_EQ(read.value, "10.0.0.7:8080");
  EXPECT_EQ(read.value_revision, 3U);
  EXPECT_EQ(to_metadata(read), metadata);
}

TEST(release_request, takes_the_place_of_a_former_one) {
  const auto once = with_release_request(to_metadata(someone()), "a long first reason");
  const auto twice = with_release_request(once, "short");
  EXPECT_EQ(from_metadata(twice).release_request, "short");
  EXPECT_EQ(twice, with_release_request(to_metadata(someone()), "short"));
}

TEST(release_request, is_not_there_without_a_request) {
  EXPECT_FALSE(from_metadata(to_metadata(someone())).release_request);
  EXPECT_FALSE(from_metadata("").release_request);
  EXPECT_FALSE(from_metadata(R"({"release_request":7})").release_request);
}

TEST(release_request, leaves_metadata_that_is_no_object) {
  for (const char* text : {"", "somebody else", "10.0.0.7"})
    EXPECT_EQ(with_release_request(text, "why"), text);
}

RC_GTEST_PROP(release_request, survives_with_any_label_and_reason,
              (const std::string& label, const std::string& reason)) {
  claimant c;
  c.label = label;
  const auto metadata = with_release_request(to_metadata(c), reason);
  RC_ASSERT(from_metadata(metadata).release_request.has_value());
  RC_ASSERT(with_release_request(metadata, "x") == with_release_request(to_metadata(c), "x"));
}

}  // namespace
}  // namespace holdfast
