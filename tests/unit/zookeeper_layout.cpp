// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>
#include <string>

#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {
namespace {

const owner_id guid = *owner_id::from_hex("0123456789abcdef0123456789abcdef");
constexpr std::string_view uuid = "01234567-89ab-cdef-0123-456789abcdef";

/// As a server writes them behind a name.
std::string numbered(const std::string& name, std::int32_t number) {
  std::string digits(16, '\0');
  digits.resize(static_cast<std::size_t>(std::snprintf(digits.data(), digits.size(), "%010d", number)));
  return name + digits;
}

TEST(zookeeper_layout, names_nodes_as_curator_does) {
  const std::string protection = "_c_" + std::string{uuid};
  EXPECT_EQ(node_name(layout::curator, role::mutex, guid), protection + "-lock-");
  EXPECT_EQ(node_name(layout::curator, role::latch, guid), protection + "-latch-");
  EXPECT_EQ(node_name(layout::kazoo, role::latch, guid), node_name(layout::kazoo, role::mutex, guid));
  EXPECT_EQ(node_name(layout::curator, role::writer, guid), protection + "-__WRIT__");
  EXPECT_EQ(node_name(layout::curator, role::reader, guid), protection + "-__READ__");
  EXPECT_EQ(node_name(layout::curator, role::lease, guid), protection + "-lease-");
  EXPECT_EQ(downgraded(layout::curator, 7, guid), protection + "-__READ__0000000007");
  EXPECT_EQ(downgraded(layout::curator, -7, guid), protection + "-__READ__-000000007");
}

TEST(zookeeper_layout, names_nodes_as_kazoo_does) {
  EXPECT_EQ(node_name(layout::kazoo, role::mutex, guid), guid.hex() + "__lock__");
  EXPECT_EQ(node_name(layout::kazoo, role::writer, guid), guid.hex() + "__lock__");
  EXPECT_EQ(node_name(layout::kazoo, role::reader, guid), guid.hex() + "__rlock__");
}

TEST(zookeeper_layout, knows_curators_nodes_with_and_without_protection) {
  const auto with = parse(layout::curator, "_c_" + std::string{uuid} + "-lock-0000000042");
  ASSERT_TRUE(with);
  EXPECT_EQ(with->wants, role::mutex);
  EXPECT_EQ(with->number, 42);
  EXPECT_EQ(with->guid, guid);
  const auto without = parse(layout::curator, "lock-0000000042");
  ASSERT_TRUE(without);
  EXPECT_EQ(without->wants, role::mutex);
  EXPECT_EQ(without->number, 42);
  EXPECT_FALSE(without->guid);
  EXPECT_EQ(parse(layout::curator, "__WRIT__0000000001")->wants, role::writer);
  EXPECT_EQ(parse(layout::curator, "__READ__0000000001")->wants, role::reader);
  EXPECT_EQ(parse(layout::curator, "lease-0000000001")->wants, role::lease);
  EXPECT_EQ(parse(layout::curator, "lock--2147483648")->number, std::numeric_limits<std::int32_t>::min());
}

TEST(zookeeper_layout, knows_kazoos_nodes) {
  const auto c = parse(layout::kazoo, guid.hex() + "__lock__0000000003");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->wants, role::writer) << "its Lock and its WriteLock are the same to look at";
  EXPECT_EQ(c->number, 3);
  EXPECT_EQ(c->guid, guid);
  EXPECT_EQ(parse(layout::kazoo, guid.hex() + "__rlock__0000000003")->wants, role::reader);
}

TEST(zookeeper_layout, takes_nothing_else_for_a_contender) {
  for (const char* node : {"", "locks", "leases", "lock-", "lock-42", "lock-00000000042x", "lock-+000000042",
                           "lock-99999999999", "unlock-0000000042", "_c_-lock", "0000000042"}) {
    EXPECT_FALSE(parse(layout::curator, node)) << node;
    EXPECT_FALSE(parse(layout::kazoo, node)) << node;
  }
  EXPECT_FALSE(parse(layout::kazoo, "abc__lock__0000000001")) << "kazoo's names begin with 32 hex digits";
}

TEST(zookeeper_layout, layouts_do_not_take_each_others_nodes) {
  for (const role each : {role::mutex, role::writer, role::reader, role::lease}) {
    const std::string curators = numbered(node_name(layout::curator, each, guid), 5);
    const std::string kazoos = numbered(node_name(layout::kazoo, each, guid), 5);
    EXPECT_FALSE(parse(layout::kazoo, curators)) << curators;
    EXPECT_FALSE(parse(layout::curator, kazoos)) << kazoos;
    EXPECT_TRUE(looks_like_contender(curators) && looks_like_contender(kazoos));
  }
}

RC_GTEST_PROP(zookeeper_layout, what_it_names_it_knows_again, (std::int32_t number)) {
  owner_id::bytes_type bytes{};
  for (auto& b : bytes) b = *rc::gen::arbitrary<std::uint8_t>();
  const owner_id maker{bytes};
  for (const layout l : {layout::curator, layout::kazoo}) {
    for (const role wants : {l == layout::curator ? role::mutex : role::writer, role::reader, role::lease}) {
      const std::string node = numbered(node_name(l, wants, maker), number);
      const auto c = parse(l, node);
      RC_ASSERT(c.has_value());
      RC_ASSERT(c->wants == wants && c->number == number && c->guid == maker && c->node == node);
    }
    RC_ASSERT(downgraded(l, number, maker) == numbered(node_name(l, role::reader, maker), number));
  }
}

TEST(zookeeper_layout, numbers_go_on_below_zero_at_their_end) {
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  EXPECT_TRUE(is_before(0, 1));
  EXPECT_TRUE(is_before(most, least));
  EXPECT_FALSE(is_before(least, most));
  EXPECT_TRUE(is_before(0, least));
  EXPECT_FALSE(is_before(least, 0));
  EXPECT_FALSE(is_before(5, 5));
}

RC_GTEST_PROP(zookeeper_layout, all_numbers_have_an_order,
              (std::int32_t one, std::int32_t two, std::int32_t three)) {
  RC_ASSERT(is_before(one, two) + is_before(two, one) == (one == two ? 0 : 1));
  RC_ASSERT(!is_before(one, two) || !is_before(two, three) || is_before(one, three));
}

TEST(zookeeper_layout, knows_a_child_by_its_path) {
  const std::string node = numbered(node_name(layout::curator, role::mutex, guid), 7);
  ASSERT_TRUE(contender_at(layout::curator, "/stock", "/stock/" + node));
  EXPECT_EQ(contender_at(layout::curator, "/stock", "/stock/" + node)->node, node);
  for (const std::string& path :
       {std::string{}, std::string{"/"}, std::string{"/stock"}, std::string{"/stock/"}, "/stocks/" + node,
        "/stock" + node, "/a/stock/" + node, "/stock/" + node + 'x'}) {
    EXPECT_FALSE(contender_at(layout::curator, "/stock", path)) << path;
  }
}

TEST(zookeeper_layout, of_a_reply_is_that_of_the_request) {
  operation creation{.kind = operation_kind::create, .path = "/stock", .make = operation::made::container};
  EXPECT_TRUE(may_create(creation, "/stock"));
  for (const char* path : {"", "/", "/stoc", "/stock0000000001", "/other"}) {
    EXPECT_FALSE(may_create(creation, path)) << path;
  }
  creation.make = operation::made::sequential;
  EXPECT_TRUE(may_create(creation, "/stock0000000001"));
  EXPECT_TRUE(may_create(creation, "/stock-2147483648"));
  for (const char* path :
       {"", "/x", "/stock", "/stock1", "/stock000000000x", "/stock99999999999", "/other0000000001"}) {
    EXPECT_FALSE(may_create(creation, path)) << path;
  }
}

}  // namespace
}  // namespace holdfast::zookeeper
