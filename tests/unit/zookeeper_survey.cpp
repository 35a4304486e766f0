// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "stores/zookeeper/protocol/survey.hpp"

namespace holdfast::zookeeper {
namespace {

const std::string base = "/lock";

struct node {
  std::string name;
  std::int64_t created = 0;
};

/// kazoo's, with the number that all nodes get at the end of the counter, or one before it.
node writer(char guid, std::int64_t created, const char* number = "2147483647") {
  return {std::string(32, guid) + "__lock__" + number, created};
}
node reader(char guid, std::int64_t created, const char* number = "2147483647") {
  return {std::string(32, guid) + "__rlock__" + number, created};
}

std::vector<result> list_of(const std::vector<node>& nodes) {
  std::vector<result> reads(reads_of(base).size());
  for (const node& n : nodes) reads[1].children.push_back(n.name);
  return reads;
}

/// The survey of a name that has these children, and whose nodes are all there when they are read.
survey survey_of(const std::vector<node>& nodes, std::size_t waiters) {
  survey all = survey_of(layout::kazoo, base, list_of(nodes));
  std::vector<result> reads;
  for (const operation& o : claim_reads_of(all, waiters)) {
    result r;
    for (const node& n : nodes) {
      if (base + '/' + n.name == o.path) r.about.created = n.created;
    }
    reads.push_back(std::move(r));
  }
  fill(all, waiters, reads);
  return all;
}

std::vector<std::uint64_t> tokens_of(const std::vector<claimed>& claims) {
  std::vector<std::uint64_t> tokens;
  for (const claimed& c : claims) tokens.push_back(token_of(c).value());
  return tokens;
}

using tokens = std::vector<std::uint64_t>;

TEST(zookeeper_survey, holder_at_the_end_of_the_numbers_is_the_first_created) {
  // A later claim is there for the moment until it has seen the other one.
  for (const auto& nodes : {std::vector{writer('a', 20), writer('b', 10), writer('c', 30)},
                            std::vector{writer('b', 10), writer('c', 30), writer('a', 20)}}) {
    const survey all = survey_of(nodes, 2);
    EXPECT_EQ(tokens_of(all.holders), tokens{10});
    EXPECT_EQ(tokens_of(all.waiters), (tokens{20, 30}));
    EXPECT_EQ(all.waiters_read, 2U);
  }
}

TEST(zookeeper_survey, numbers_after_the_last_are_no_order_either) {
  const survey all = survey_of({writer('a', 10, "-2147483648"), writer('b', 20)}, 1);
  EXPECT_EQ(tokens_of(all.holders), tokens{10});
}

TEST(zookeeper_survey, only_so_many_waiters_are_read_as_are_asked_for) {
  const survey all = survey_of({writer('a', 20), writer('b', 10), writer('c', 30)}, 0);
  EXPECT_EQ(all.waiters.size(), 2U);
  EXPECT_TRUE(state_of(all, "lock", {}).waiters.empty());
}

TEST(zookeeper_survey, readers_at_the_end_of_the_numbers_hold_with_readers_before_it) {
  const survey all = survey_of({writer('a', 30), reader('b', 20), reader('c', 10, "2147483646")}, 1);
  EXPECT_EQ(tokens_of(all.holders), (tokens{10, 20}));
  EXPECT_EQ(tokens_of(all.waiters), tokens{30});
}

TEST(zookeeper_survey, writer_before_the_end_of_the_numbers_holds_alone) {
  const survey all = survey_of({writer('a', 30), writer('b', 20), writer('c', 10, "2147483646")}, 0);
  EXPECT_EQ(tokens_of(all.holders), tokens{10});
  EXPECT_EQ(all.waiters.size(), 2U);
}

// A writer that is downgraded between the two reads has another node.
TEST(zookeeper_survey, of_an_open_order_is_torn_where_a_contender_went_between_the_reads) {
  const std::vector nodes{writer('a', 20), writer('b', 10)};
  survey all = survey_of(layout::kazoo, base, list_of(nodes));
  std::vector<result> reads(2);
  for (std::size_t each = 0; each < reads.size(); ++each) {
    const bool is_first = claim_reads_of(all, 0).at(each).path.find("bbbb") != std::string::npos;
    if (is_first) reads[each].code = answer::no_node;
    reads[each].about.created = 20;
  }
  fill(all, 0, reads);
  EXPECT_TRUE(all.is_torn);
  EXPECT_TRUE(all.has_open_order);
}

}  // namespace
}  // namespace holdfast::zookeeper
