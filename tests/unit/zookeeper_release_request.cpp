// SPDX-License-Identifier: Apache-2.0
// Requests to release as data of nodes: Curator's, and those with a reason.

#include <gtest/gtest.h>
#include <string>

#include "base/metadata.hpp"
#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/survey.hpp"

namespace holdfast::zookeeper {
namespace {

owner_id guid() {
  owner_id::bytes_type bytes{};
  bytes[0] = 1;
  return owner_id{bytes};
}

claimed holder(layout style, role wants, std::string data, bool is_ours) {
  const auto id = is_ours ? marked_as_ours(guid()) : guid();
  claimed c;
  c.place = *parse(style, node_name(style, wants, id) + "0000000001");
  c.place.wants = wants;
  c.data = std::move(data);
  return c;
}

std::string note_of(const std::string& host) {
  claimant self;
  self.host = host;
  note n;
  n.token = fencing_token{5};
  n.metadata = to_metadata(self);
  return to_text(n);
}

TEST(zookeeper_release_request, is_curators_word_for_a_curator_lock) {
  for (const role wants : {role::mutex, role::writer, role::reader}) {
    EXPECT_EQ(data_that_asks(holder(layout::curator, wants, "10.0.0.7", false), "why"), "__REVOKE__");
  }
}

TEST(zookeeper_release_request, stands_in_the_note_of_a_holder_of_ours) {
  const auto data = data_that_asks(holder(layout::curator, role::mutex, note_of("alpha"), true), "why");
  ASSERT_TRUE(data);
  EXPECT_EQ(request_in(*data), "why");
  const auto n = read_note(*data);
  ASSERT_TRUE(n);
  EXPECT_EQ(n->token, fencing_token{5});
  EXPECT_EQ(from_metadata(n->metadata).host, "alpha");
  // Also in kazoo's layout, and of a leader, whose value stands before its note.
  EXPECT_EQ(request_in(*data_that_asks(holder(layout::kazoo, role::mutex, note_of("alpha"), true), "why")),
            "why");
  const auto of_leader =
      data_that_asks(holder(layout::curator, role::latch, "value\n" + note_of("alpha"), true), "");
  EXPECT_EQ(request_in(*of_leader), "");
  EXPECT_TRUE(of_leader->starts_with("value\nholdfast ")) << "Curator's LeaderLatch shows its first line";
  // A Revoker was there before, and the holder has not answered yet.
  EXPECT_EQ(data_that_asks(holder(layout::curator, role::mutex, "__REVOKE__", true), "why"), "__REVOKE__");
}

TEST(zookeeper_release_request, is_impossible_where_the_data_means_something_else) {
  EXPECT_FALSE(data_that_asks(holder(layout::curator, role::latch, "id", false), "why"));
  EXPECT_FALSE(data_that_asks(holder(layout::curator, role::lease, "", false), "why"));
  EXPECT_FALSE(data_that_asks(holder(layout::kazoo, role::mutex, "id", false), "why"));
}

TEST(zookeeper_release_request, is_not_in_other_data) {
  EXPECT_EQ(request_in("__REVOKE__"), "");
  for (const std::string& data : {std::string{}, std::string{"10.0.0.7"}, std::string{"__REVOKE__2"},
                                  note_of("__REVOKE__"), "__REVOKE__\n" + note_of("alpha")}) {
    EXPECT_FALSE(request_in(data)) << data;
  }
}

}  // namespace
}  // namespace holdfast::zookeeper
