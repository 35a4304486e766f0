// SPDX-License-Identifier: Apache-2.0
// Looks at databases that take several parts, between which somebody else goes on.

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "stores/sql/protocol/call.hpp"
#include "stores/sql/protocol/looks.hpp"

namespace holdfast::sql {
namespace {

class sql_looks : public testing::Test {
 protected:
  static row claim(std::int64_t token, std::int64_t granted, std::int64_t last = 1000,
                   bool is_living = true) {
    return {last,
            granted,
            store::full_capacity,
            token,
            std::string(16, 'o'),
            store::full_capacity,
            std::int64_t{0},
            std::int64_t{1},
            "{}",
            std::int64_t{is_living}};
  }
  /// A full part.
  static std::vector<row> claims(std::int64_t first, std::int64_t granted, std::int64_t last = 1000) {
    std::vector<row> rows;
    for (std::int64_t i = 0; i < claims_in_part; ++i) rows.push_back(claim(first + i, granted, last));
    return rows;
  }
  static row counted(const std::string& name, std::int64_t holders, std::int64_t all, std::int64_t upto) {
    const bool is_held = holders != 0;
    return {name,
            std::int64_t{1000},
            store::full_capacity,
            holders,
            all,
            is_held ? value{store::full_capacity} : value{},
            is_held ? value{std::int64_t{0}} : value{},
            is_held ? value{"{}"} : value{},
            is_held ? value{std::int64_t{1}} : value{},
            upto};
  }
  /// \return whether there is more.
  bool hear(const std::vector<row>& rows) {
    auto reply = reply_of(request_, rows);
    const auto* const part = std::get_if<tickets::more>(&reply);
    if (part != nullptr) {
      *tickets::listed_in(request_) = part->listed;
      EXPECT_TRUE(part->progress);
    }
    const bool more = part != nullptr;
    reply_ = std::move(reply);
    return more;
  }
  std::vector<std::int64_t> sent_numbers() const {
    std::vector<std::int64_t> numbers;
    for (const parameter& each : call_of(request_, {}).in)
      if (each.type == parameter::kind::number) numbers.push_back(each.number);
    return numbers;
  }
  const lock_state& state() { return std::get<std::optional<lock_state>>(reply_).value(); }
  const std::vector<lock_summary>& summaries() { return std::get<std::vector<lock_summary>>(reply_); }
  void list(bool idle = false) { request_ = tickets::list{idle}; }

  tickets::request request_ = tickets::inspect{"stock"};
  tickets::reply reply_;
};

TEST_F(sql_looks, go_on_behind_the_last_claim_up_to_the_last_of_the_first_part) {
  EXPECT_EQ(sent_numbers(), (std::vector<std::int64_t>{0, longest_token, claims_in_part}));
  EXPECT_TRUE(hear(claims(1, 1)));
  EXPECT_EQ(sent_numbers(), (std::vector<std::int64_t>{64, 1000, claims_in_part}));
  EXPECT_FALSE(hear({claim(65, 1, 2000)}));
  EXPECT_EQ(state().holders.size(), 1U);
  EXPECT_EQ(state().waiters.size(), 64U);
  EXPECT_EQ(state().last_token, fencing_token{1000}) << "that of the first part";
}

// The first part has seen the holder, which was released since.
TEST_F(sql_looks, take_a_claim_that_was_granted_between_two_parts_for_a_waiter) {
  EXPECT_TRUE(hear(claims(1, 1)));
  EXPECT_FALSE(hear({claim(65, 70), claim(71, 70)}));
  EXPECT_EQ(state().holders.size(), 1U);
  EXPECT_EQ(state().waiters.size(), 65U);
}

TEST_F(sql_looks, at_holders_read_on_until_no_more_hold) {
  request_ = tickets::inspect{"stock", 0};
  EXPECT_EQ(sent_numbers().at(1), 0);
  EXPECT_TRUE(hear(claims(1, 66)));
  EXPECT_EQ(sent_numbers().at(1), 0);
  EXPECT_FALSE(hear({claim(65, 67), claim(66, 67), claim(67, 67)}));
  EXPECT_EQ(state().holders.size(), 66U) << "not the one that was granted since";
  EXPECT_TRUE(state().waiters.empty());
}

TEST_F(sql_looks, end_with_the_waiters_that_were_asked_for) {
  request_ = tickets::inspect{"stock", 10};
  EXPECT_FALSE(hear(claims(1, 1)));
  EXPECT_EQ(state().waiters.size(), 10U);
}

TEST_F(sql_looks, pass_over_claims_that_have_ended) {
  auto rows = claims(1, 1);
  for (row& each : rows) each[9] = std::int64_t{0};
  EXPECT_TRUE(hear(rows));
  EXPECT_FALSE(hear({claim(65, 1)}));
  EXPECT_TRUE(state().holders.empty());
  EXPECT_EQ(state().waiters.size(), 1U);
}

TEST_F(sql_looks, count_no_row_that_is_of_no_claim) {
  const row name{std::int64_t{1000}, std::int64_t{1}, std::int64_t{5}, {}, {}, {}, {}, {}, {}, {}};
  auto rows = claims(1, 1);
  for (row& each : rows) {
    for (std::size_t i = 0; i < 3; ++i) each[i] = {};
    each[5] = std::int64_t{1};
  }
  rows.insert(rows.begin(), name);
  EXPECT_TRUE(hear(rows));
  EXPECT_FALSE(hear({name}));
  EXPECT_EQ(state().holders.size(), 1U);
  EXPECT_EQ(state().waiters.size(), 63U);
  EXPECT_EQ(state().capacity, 5);
  EXPECT_EQ(state().waiters[0].permits, 1);
}

TEST_F(sql_looks, end_where_the_name_was_forgotten_meanwhile) {
  EXPECT_TRUE(hear(claims(1, 1)));
  EXPECT_FALSE(hear({}));
  EXPECT_EQ(state().waiters.size(), 63U);
}

TEST_F(sql_looks, that_do_not_get_on_say_so) {
  EXPECT_TRUE(hear(claims(1, 1)));
  const auto reply = reply_of(request_, claims(1, 1));
  EXPECT_FALSE(std::get<tickets::more>(reply).progress) << "they would be asked for ever";
}

// The answer to the last part was lost with the connection.
TEST_F(sql_looks, whose_last_part_is_asked_for_again_forget_nothing) {
  EXPECT_TRUE(hear(claims(1, 1)));
  EXPECT_FALSE(hear({claim(65, 1)}));
  EXPECT_FALSE(hear({}));
  EXPECT_EQ(state().waiters.size(), 64U);
}

TEST_F(sql_looks, of_a_listing_add_up_what_they_count) {
  list();
  EXPECT_TRUE(hear({counted("a", 1, 1, 5), counted("b", 1, 700, 700)}));
  EXPECT_TRUE(hear({counted("b", 0, 300, 1000), counted("c", 0, 0, 3)}));
  EXPECT_FALSE(hear({}));
  ASSERT_EQ(summaries().size(), 2U) << "all claims of the third name have ended";
  EXPECT_EQ(summaries()[1].name, "b");
  EXPECT_EQ(summaries()[1].holders, 1U);
  EXPECT_EQ(summaries()[1].waiters, 999U);
  EXPECT_EQ(summaries()[1].holder_token, fencing_token{1});
}

TEST_F(sql_looks, of_a_listing_count_no_holder_behind_a_waiter) {
  list();
  EXPECT_TRUE(hear({counted("a", 1, 700, 700)}));
  EXPECT_TRUE(hear({counted("a", 5, 10, 710)})) << "granted since";
  EXPECT_FALSE(hear({}));
  EXPECT_EQ(summaries()[0].holders, 1U);
  EXPECT_EQ(summaries()[0].waiters, 709U);
}

TEST_F(sql_looks, of_a_listing_show_the_holder_behind_claims_that_have_ended) {
  list();
  EXPECT_TRUE(hear({counted("a", 0, 0, 700)}));
  EXPECT_TRUE(hear({counted("a", 2, 3, 703)}));
  EXPECT_FALSE(hear({}));
  EXPECT_EQ(summaries()[0].holders, 2U);
  EXPECT_EQ(summaries()[0].holder_token, fencing_token{1});
}

TEST_F(sql_looks, of_a_listing_of_all_names_add_those_without_a_claim) {
  list(true);
  EXPECT_TRUE(hear({counted("b", 1, 1, 5)}));
  EXPECT_TRUE(hear({})) << "all claims are counted; the names follow, from the first on";
  EXPECT_TRUE(hear({counted("a", 0, 0, 0), counted("b", 0, 0, 0)}));
  EXPECT_FALSE(hear({}));
  ASSERT_EQ(summaries().size(), 2U);
  EXPECT_EQ(summaries()[0].name, "a");
  EXPECT_EQ(summaries()[0].holders, 0U);
  EXPECT_EQ(summaries()[1].holders, 1U);
}

}  // namespace
}  // namespace holdfast::sql
