// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "stores/zookeeper/protocol/note.hpp"

namespace holdfast::zookeeper {
namespace {

RC_GTEST_PROP(zookeeper_note, is_read_as_it_was_written, (const std::string& metadata)) {
  note n;
  n.permits = *rc::gen::nonNegative<std::int64_t>();
  n.capacity = *rc::gen::nonNegative<std::int64_t>();
  n.ttl = duration{*rc::gen::nonNegative<std::int64_t>()};
  n.token = fencing_token{static_cast<std::uint64_t>(*rc::gen::nonNegative<std::int64_t>())};
  n.metadata = metadata;
  const auto back = read_note(to_text(n));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->permits == n.permits && back->capacity == n.capacity && back->ttl == n.ttl);
  RC_ASSERT(back->token == n.token && back->metadata == n.metadata);
}

// Of a candidate of an election: Curator shows what stands before it.
TEST(zookeeper_note, may_follow_a_value_of_any_bytes) {
  note n;
  n.ttl = duration{5};
  n.metadata = R"({"host":"alpha"})";
  for (const std::string& value :
       {std::string{}, std::string{"10.0.0.7:8080"}, std::string{"a\nb"}, std::string{"\xFF\0\xFE", 3},
        to_text(note{}), "x\n" + to_text(note{}), std::string{"holdfast 1 "}}) {
    const auto back = read_note(value + '\n' + to_text(n));
    ASSERT_TRUE(back) << value;
    EXPECT_EQ(back->ttl, n.ttl);
    EXPECT_EQ(back->metadata, n.metadata);
  }
}

TEST(zookeeper_note, of_others_is_none) {
  for (const char* text :
       {"", "10.0.0.1", "holdfast", "holdfast 1 ", "holdfast 1 1 2 3\n", "holdfast 1 1 2 3 4",
        "holdfast 1 1 2 3 4 5\n", "holdfast 1 -1 2 3 4\n", "holdfast 1 a 2 3 4\n", "holdfast 2 1 2 3 4\n",
        "holdfast 1 99999999999999999999 2 3 4\n"}) {
    EXPECT_FALSE(read_note(text)) << text;
  }
}

RC_GTEST_PROP(zookeeper_note, any_bytes_can_be_there, (const std::string& bytes)) {
  static_cast<void>(read_note(bytes));
  static_cast<void>(read_note("holdfast 1 " + bytes));
}

}  // namespace
}  // namespace holdfast::zookeeper
