// SPDX-License-Identifier: Apache-2.0
// The fencing token in the metadata of a hold.

#include <gtest/gtest.h>

#include "base/metadata.hpp"

namespace holdfast {
namespace {

constexpr fencing_token token{18'446'744'073'709'551'615U};

TEST(hold_token, stands_in_the_metadata_beside_what_is_there) {
  claimant self;
  self.host = "web-1";
  self.label = "a\"b";
  const std::string text = with_hold_token(to_metadata(self), token);
  EXPECT_EQ(hold_token_in(text), token);
  const claimant read = from_metadata(text);
  EXPECT_EQ(read.host, "web-1");
  EXPECT_EQ(read.label, "a\"b");
  EXPECT_EQ(from_metadata(with_release_request(text, "soon")).release_request, "soon");
}

TEST(hold_token, replaces_a_former_one) {
  const std::string text =
      with_hold_token(with_hold_token(R"({"host":"web-1"})", fencing_token{5}), fencing_token{9});
  EXPECT_EQ(text, R"({"token":9,"host":"web-1"})");
  EXPECT_EQ(with_hold_token(with_hold_token("{}", fencing_token{5}), fencing_token{9}), R"({"token":9})");
}

TEST(hold_token, is_in_no_text_of_others) {
  for (const char* text :
       {"", "nightly", "{", R"({"host":"{\"token\":5,"})", R"({"host":"","token":5})", R"({"token":"5"})",
        R"({"token":5)", R"({"token":-5})", R"({"token":99999999999999999999,"a":1})"})
    EXPECT_FALSE(hold_token_in(text)) << text;
  for (const char* text : {"", "nightly"}) EXPECT_EQ(with_hold_token(text, token), text);
}

}  // namespace
}  // namespace holdfast
