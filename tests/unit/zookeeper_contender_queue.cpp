// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>
#include <string>
#include <vector>

#include "stores/zookeeper/protocol/contender_queue.hpp"

namespace holdfast::zookeeper {
namespace {

/// As Curator names its nodes without protection.
contender made(role wants, std::int32_t number) {
  const char* const marker = wants == role::reader   ? "__READ__"
                             : wants == role::writer ? "__WRIT__"
                                                     : "lock-";
  std::array<char, 32> node{};
  std::snprintf(node.data(), node.size(), "%s%010d", marker, number);
  return {node.data(), wants, number, std::nullopt};
}

std::vector<std::string> nodes_of(const std::vector<contender>& all) {
  std::vector<std::string> nodes;
  for (const contender& c : all) nodes.push_back(c.node);
  return nodes;
}

/// Some contenders, in no order; at times where numbers come to their end.
std::vector<contender> contenders() {
  const auto first =
      *rc::gen::elementOf(std::vector<std::int32_t>{0, std::numeric_limits<std::int32_t>::max() - 5});
  const auto count = *rc::gen::inRange<std::uint32_t>(0, 20);
  std::vector<contender> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto wants = *rc::gen::elementOf(std::vector<role>{role::mutex, role::writer, role::reader});
    all.push_back(made(wants, static_cast<std::int32_t>(static_cast<std::uint32_t>(first) + i)));
    std::swap(all[*rc::gen::inRange<std::size_t>(0, all.size())], all.back());
  }
  return all;
}

/// Who is ahead and has to be waited for, the last of them first: by looking at each.
std::vector<std::string> ahead_of(const std::vector<contender>& all, const contender& own) {
  std::vector<contender> ahead;
  for (const contender& c : all) {
    if (is_before(c.number, own.number) && (own.wants != role::reader || c.excludes())) ahead.push_back(c);
  }
  std::sort(ahead.begin(), ahead.end(),
            [](const contender& a, const contender& b) { return is_before(b.number, a.number); });
  std::vector<std::string> nodes;
  for (const contender& c : ahead) nodes.push_back(c.node);
  return nodes;
}

RC_GTEST_PROP(zookeeper_contender_queue, knows_who_is_ahead_as_a_list_does, ()) {
  std::vector<contender> all = contenders();
  RC_PRE(!all.empty());
  contender_queue r{layout::curator};
  r.read(nodes_of(all));
  for (auto left = *rc::gen::inRange<std::size_t>(0, all.size()); left > 0; --left) {
    const auto which = *rc::gen::inRange<std::size_t>(0, all.size());
    r.gone(all[which].node);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
  }
  for (const contender& c : all) {
    const auto expected = ahead_of(all, c);
    const auto enough = *rc::gen::inRange<std::size_t>(1, 25);
    const auto count = static_cast<std::ptrdiff_t>(std::min(enough, expected.size()));
    RC_ASSERT(r.before(c, enough) == std::vector<std::string>(expected.begin(), expected.begin() + count));
  }
}

RC_GTEST_PROP(zookeeper_contender_queue, of_one_who_holds_nobody_is_ahead_any_more, ()) {
  const std::vector<contender> all = contenders();
  RC_PRE(!all.empty());
  contender_queue r{layout::curator};
  r.read(nodes_of(all));
  const contender& holder = *rc::gen::elementOf(all);
  r.holds(holder);
  RC_ASSERT(r.before(holder, 1).empty());
  // Whoever it did not wait for is still there.
  const auto passed = ahead_of(all, holder);
  for (const contender& c : all) {
    auto expected = ahead_of(all, c);
    std::erase_if(expected, [&](const std::string& node) {
      return std::find(passed.begin(), passed.end(), node) != passed.end();
    });
    RC_ASSERT(r.before(c, 100) == expected);
  }
}

TEST(zookeeper_contender_queue, a_reader_waits_for_writers_alone) {
  contender_queue r{layout::curator};
  r.read(
      nodes_of({made(role::reader, 1), made(role::writer, 2), made(role::reader, 3), made(role::mutex, 4)}));
  EXPECT_TRUE(r.before(made(role::reader, 1), 9).empty());
  EXPECT_EQ(r.before(made(role::reader, 3), 9), nodes_of({made(role::writer, 2)}));
  EXPECT_EQ(r.before(made(role::writer, 2), 9), nodes_of({made(role::reader, 1)}));
  EXPECT_EQ(r.before(made(role::mutex, 4), 9),
            nodes_of({made(role::reader, 3), made(role::writer, 2), made(role::reader, 1)}));
}

TEST(zookeeper_contender_queue, a_writer_that_went_may_have_become_a_reader) {
  contender_queue r{layout::curator};
  r.read(nodes_of({made(role::reader, 1), made(role::writer, 2), made(role::mutex, 3)}));
  r.gone(made(role::reader, 1).node);
  r.gone(made(role::mutex, 3).node);
  EXPECT_FALSE(r.may_lack_readers());
  r.gone(made(role::writer, 2).node);
  EXPECT_TRUE(r.may_lack_readers());
  r.read(nodes_of({made(role::reader, 2)}));
  EXPECT_FALSE(r.may_lack_readers());
}

TEST(zookeeper_contender_queue, orders_nobody_by_numbers_of_the_end) {
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  const auto last = made(role::mutex, most);
  const auto beyond = made(role::reader, least);
  contender_queue r{layout::curator};
  r.read(nodes_of({made(role::mutex, most - 1), last}));
  EXPECT_FALSE(r.cannot_order(last)) << "the one before came before";
  r.read(nodes_of({last, beyond}));
  EXPECT_TRUE(r.cannot_order(last));
  EXPECT_TRUE(r.cannot_order(beyond));
  r.read(nodes_of({last, made(role::writer, most)}));
  EXPECT_TRUE(r.cannot_order(last));
  r.read(nodes_of({beyond, made(role::mutex, least + 7)}));
  EXPECT_TRUE(r.cannot_order(beyond));
  r.read(nodes_of({made(role::mutex, 7), made(role::mutex, 8)}));
  EXPECT_FALSE(r.cannot_order(made(role::mutex, 8)));
}

TEST(zookeeper_contender_queue, a_later_list_takes_the_place_of_an_earlier_one) {
  contender_queue r{layout::curator};
  EXPECT_EQ(r.read(nodes_of({made(role::mutex, 1), made(role::mutex, 2), made(role::mutex, 4)})),
            std::nullopt);
  EXPECT_EQ(r.read(nodes_of({made(role::mutex, 2), made(role::mutex, 3), made(role::mutex, 4)})),
            std::nullopt);
  EXPECT_EQ(r.before(made(role::mutex, 4), 9), nodes_of({made(role::mutex, 3), made(role::mutex, 2)}));
}

TEST(zookeeper_contender_queue, tells_of_contenders_of_the_other_layout) {
  contender_queue r{layout::curator};
  const std::string stranger = "0123456789abcdef0123456789abcdef__lock__0000000007";
  EXPECT_EQ(r.read({"anything", stranger, made(role::mutex, 1).node}), stranger);
}

TEST(zookeeper_contender_queue, who_is_not_known_may_go) {
  contender_queue r{layout::curator};
  r.gone(made(role::mutex, 1).node);
  r.read(nodes_of({made(role::writer, 2)}));
  r.gone(made(role::mutex, 1).node);
  EXPECT_EQ(r.before(made(role::writer, 3), 9).size(), 1U);
}

}  // namespace
}  // namespace holdfast::zookeeper
