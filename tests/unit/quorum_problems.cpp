// SPDX-License-Identifier: Apache-2.0
// What several servers have said, with the place of each.

#include <gmock/gmock.h>

#include "stores/quorum/protocol/problem_list.hpp"
#include "unit/quorum_coordinator.hpp"

namespace holdfast::quorum {
namespace {

using testing::HasSubstr;

TEST(quorum_problems, begin_with_the_place_of_the_server_once) {
  EXPECT_EQ(with_place("a:6379", "gone"), "a:6379: gone");
  EXPECT_EQ(with_place("a:6379", "a:6379: gone"), "a:6379: gone");
  EXPECT_EQ(without_place("a:6379", "a:6379: gone"), "gone");
  EXPECT_EQ(without_place("a:6379", "gone"), "gone");
}

TEST(quorum_problems, of_a_server_are_not_those_of_another_one_whose_place_is_longer) {
  EXPECT_EQ(with_place("a:637", "a:6379: gone"), "a:637: a:6379: gone");
  EXPECT_EQ(without_place("a:637", "a:6379: gone"), "a:6379: gone");
  EXPECT_EQ(with_place("a:1", "clients name a:1: the wrong one"), "a:1: clients name a:1: the wrong one");
}

TEST(quorum_problems, that_are_equal_are_said_once) {
  problem_list all;
  EXPECT_EQ(all.text(), "");
  all.add("a:1", "a:1: gone");
  all.add("b:1", "b:1: gone");
  all.add("c:1", "c:1 does not answer");
  all.add("d:1", "d:1: gone");
  EXPECT_EQ(all.text(), "; a:1, b:1 and d:1: gone; c:1 does not answer");
}

// The text of a conflict names all servers.
TEST_F(quorum_coordinator, names_the_server_of_an_error_whose_text_has_its_place_further_on) {
  const auto got = send(request(task::inspect));
  for (const std::size_t i : {0, 1, 2})
    reply(i, of(store::request_error{
                 {errc::foreign_store, "other servers than host0:6379,host1:6379,host2:6379"}, true, false}));
  for (const std::size_t i : {3, 4}) reply(i, failed(i));
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_THAT(error_in(got)->reason.message,
              HasSubstr("host0:6379, host1:6379 and host2:6379: other servers than host0:6379"));
}

}  // namespace
}  // namespace holdfast::quorum
