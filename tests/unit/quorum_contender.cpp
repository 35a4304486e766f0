// A claim on five servers, step by step: what it sends, and when it holds.

#include "unit/quorum_contender.hpp"

#include <gmock/gmock.h>
#include <memory>
#include <string>

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using tickets::ballot_step;

TEST_F(quorum_contender, holds_by_the_first_majority_in_one_round) {
  const auto begin = now_;
  EXPECT_FALSE(ask().answer);
  EXPECT_EQ(addressees(ballot_step::claim).size(), 5U);
  for (const std::size_t server : {4, 0}) {
    now_ += 1ms;
    EXPECT_FALSE(hear(server, granted()).answer);
  }
  const auto won = hear(2, granted());
  ASSERT_TRUE(is_grant(won));
  EXPECT_TRUE(won.send.empty());
  EXPECT_EQ(answer_in<tickets::place>(won)->token, fencing_token{number});
  EXPECT_EQ(answer_in<tickets::place>(won)->counts_from, begin);
  EXPECT_TRUE(claim_.holds());
}

TEST_F(quorum_contender, proposes_anew_a_token_that_less_than_a_majority_has_accepted) {
  ask();
  hear(0, granted());
  hear(1, granted(0, number + 7));
  EXPECT_FALSE(is_won(hear(2, granted(0, number + 3))));
  EXPECT_EQ(addressees(ballot_step::accept), (std::set<std::size_t>{0, 1, 2}));
  const auto proposed = sent(0).token;
  EXPECT_GT(proposed, fencing_token{number + 7});
  for (const std::size_t server : {0, 1}) {
    EXPECT_EQ(sent(server).token, proposed);
    EXPECT_FALSE(is_won(hear(server, granted(proposed.value(), proposed.value()))));
  }
  EXPECT_TRUE(is_won(hear(2, granted(proposed.value(), proposed.value()))));
  const auto won = ask();
  ASSERT_TRUE(is_grant(won));
  EXPECT_EQ(answer_in<tickets::place>(won)->token, proposed);
}

TEST_F(quorum_contender, needs_one_token_and_not_several_with_a_majority_together) {
  ask();
  hear(0, granted());
  hear(1, granted());
  hear(2, granted(0, number + 1));
  const auto proposed = sent(0).token.value();
  hear(0, granted(proposed, proposed));
  hear(1, granted(proposed, proposed));
  EXPECT_FALSE(is_won(hear(3, granted()))) << "the token of one is not that of the others";
}

TEST_F(quorum_contender, counts_a_vote_until_its_own_deadline) {
  const auto begin = now_;
  ask();
  hear(0, granted());
  hear(1, granted());
  now_ = begin + 29s;
  hint(1);
  hear(1, granted());
  now_ = begin + 30s;
  EXPECT_FALSE(is_won(hear(2, granted()))) << "it counts from the request, and so does the first one";
  hint(0);
  EXPECT_FALSE(is_won(hear(0, granted())));
  hint(2);
  EXPECT_TRUE(is_won(hear(2, granted())));
  const auto won = ask();
  ASSERT_TRUE(is_grant(won));
  EXPECT_EQ(answer_in<tickets::place>(won)->counts_from, begin + 29s);
}

TEST_F(quorum_contender, is_not_revived_by_an_answer_that_was_under_way) {
  ask();
  hear(0, granted());
  hear(1, granted());
  now_ += 31s;
  EXPECT_FALSE(is_won(hear(2, granted())));
  EXPECT_FALSE(is_won(hear(3, granted())));
  EXPECT_FALSE(is_won(hear(4, granted())));
  EXPECT_FALSE(claim_.holds());
}

TEST_F(quorum_contender, gives_a_grant_back_while_it_has_no_majority) {
  ask();
  hear(0, overtaken(41));
  ASSERT_EQ(addressees(ballot_step::yield), std::set<std::size_t>{0});
  EXPECT_EQ(sent(0).grant, 41U);
}

TEST_F(quorum_contender, with_a_majority_gives_nothing_back) {
  ask();
  hear(0, granted());
  hear(1, granted());
  EXPECT_TRUE(is_grant(hear(2, overtaken(41))));
  hear(3, overtaken(42));
  EXPECT_TRUE(addressees(ballot_step::yield).empty());
}

TEST_F(quorum_contender, counts_nothing_of_a_server_until_its_yield_is_answered) {
  ask();
  hear(0, overtaken(41));
  hear(1, granted());
  EXPECT_FALSE(is_won(hear(2, granted()))) << "the yield may have been carried out";
  EXPECT_TRUE(is_won(hear(0, granted()))) << "nobody goes first any more, and the grant stays";
}

TEST_F(quorum_contender, counts_nothing_of_a_server_that_took_the_grant_back) {
  ask();
  hear(0, overtaken(41));
  hear(1, granted());
  hear(2, granted());
  EXPECT_FALSE(is_won(hear(0, queued())));
  EXPECT_FALSE(claim_.holds());
}

TEST_F(quorum_contender, sends_a_lost_yield_again_with_the_same_number) {
  ask();
  hear(0, overtaken(41));
  const auto lost = hear(0, failed(0));
  ASSERT_TRUE(lost.wake_at);
  EXPECT_TRUE(addressees(ballot_step::yield).empty());
  hear(1, granted());
  EXPECT_FALSE(is_won(hear(2, granted())));
  wake_after(1s);
  ASSERT_EQ(addressees(ballot_step::yield), std::set<std::size_t>{0});
  EXPECT_EQ(sent(0).grant, 41U);
}

TEST_F(quorum_contender, sends_a_lost_yield_before_it_claims_again) {
  ask();
  hear(0, overtaken(41));
  hear(0, failed(0));
  hint(0);
  ASSERT_EQ(addressees(ballot_step::yield), std::set<std::size_t>{0});
  EXPECT_EQ(sent(0).grant, 41U);
}

TEST_F(quorum_contender, asks_again_after_an_answer_that_may_be_older_than_a_notification) {
  ask();
  hint(0);  // while the answer is under way
  hear(0, queued());
  EXPECT_EQ(addressees(ballot_step::claim).count(0), 1U);
  hear(0, granted());
  EXPECT_EQ(addressees(ballot_step::claim).count(0), 0U);
}

TEST_F(quorum_contender, that_waits_says_so_when_a_majority_has_answered) {
  ask();
  hear(0, queued());
  EXPECT_FALSE(hear(1, queued()).answer);
  const auto waiting = hear(2, queued());
  ASSERT_NE(answer_in<tickets::place>(waiting), nullptr);
  EXPECT_FALSE(is_grant(waiting));
  EXPECT_FALSE(waiting.is_over);
}

TEST_F(quorum_contender, that_waits_reports_its_grant_once) {
  ask();
  for (std::size_t i = 0; i < 5; ++i) hear(i, queued());
  int reports = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    hint(i);
    reports += hear(i, granted()).is_won ? 1 : 0;
  }
  EXPECT_EQ(reports, 1);
  const auto again = ask();
  EXPECT_TRUE(is_grant(again)) << "it is known";
  EXPECT_TRUE(again.send.empty());
}

TEST_F(quorum_contender, claims_again_at_a_server_that_has_lost_it) {
  ask();
  hear(0, overtaken(41));
  hear(0, tickets::nothing{});
  EXPECT_EQ(addressees(ballot_step::claim).count(0), 1U);
}

TEST_F(quorum_contender, that_too_few_servers_answer_names_them) {
  ask();
  hear(0, granted());
  hear(1, failed(1));
  EXPECT_FALSE(hear(2, failed(2)).answer) << "a majority may answer yet";
  const auto given_up = hear(3, failed(3));
  ASSERT_NE(error_in(given_up), nullptr);
  EXPECT_TRUE(error_in(given_up)->retryable);
  EXPECT_TRUE(error_in(given_up)->maybe_executed);
  EXPECT_EQ(error_in(given_up)->reason.code, errc::unavailable);
  for (const std::size_t server : {1, 2, 3})
    EXPECT_THAT(error_in(given_up)->reason.message, HasSubstr("server " + std::to_string(server)));
}

TEST_F(quorum_contender, is_not_tried_again_where_a_majority_refuses_for_good) {
  ask();
  for (const std::size_t server : {0, 1}) EXPECT_FALSE(hear(server, failed(server, false)).answer);
  const auto refused_for_good = hear(2, failed(2, false));
  ASSERT_NE(error_in(refused_for_good), nullptr);
  EXPECT_FALSE(error_in(refused_for_good)->retryable);
  EXPECT_EQ(error_in(refused_for_good)->reason.code, errc::wrong_type);
  EXPECT_FALSE(error_in(refused_for_good)->maybe_executed) << "a majority has not carried it out";
  EXPECT_TRUE(refused_for_good.is_over) << "a minority may have it";
}

TEST_F(quorum_contender, is_tried_again_where_only_a_minority_refuses_for_good) {
  ask();
  hear(0, failed(0, false));
  hear(1, failed(1, false));
  const auto both = hear(2, failed(2));
  ASSERT_NE(error_in(both), nullptr);
  EXPECT_TRUE(error_in(both)->retryable);
  EXPECT_EQ(error_in(both)->reason.code, errc::unavailable);
}

TEST_F(quorum_contender, waits_for_silent_servers_no_longer_than_the_limit) {
  const auto begun = ask();
  ASSERT_TRUE(begun.wake_at);
  EXPECT_EQ(*begun.wake_at, now_ + silence);
  hear(0, granted());
  hear(1, granted());
  EXPECT_FALSE(wake_after(silence / 2).answer);
  const auto late = wake_after(silence / 2);
  ASSERT_NE(error_in(late), nullptr);
  EXPECT_TRUE(error_in(late)->maybe_executed);
  EXPECT_EQ(in_flight_.size(), 3U) << "a request to a silent server is not repeated";
}

TEST_F(quorum_contender, does_not_repeat_a_proposal_that_was_refused) {
  ask();
  hear(0, granted());
  hear(1, granted());
  hear(2, granted(0, number + 3));
  const auto proposed = sent(0).token.value();
  hear(0, granted(proposed, proposed));
  hear(1, granted(proposed, proposed));
  hear(2, granted(0, number + 3));  // its clock is behind
  EXPECT_TRUE(addressees(ballot_step::accept).empty());
}

TEST_F(quorum_contender, does_not_repeat_a_proposal_at_once_that_has_failed) {
  ask();
  hear(0, granted());
  hear(1, granted());
  hear(2, granted(0, number + 3));
  const auto proposed = sent(0).token.value();
  hear(0, granted(proposed, proposed));
  hear(1, granted(proposed, proposed));
  hear(2, failed(2));
  EXPECT_TRUE(addressees(ballot_step::accept).empty()) << "it would fail as soon, and so on";
}

TEST_F(quorum_contender, does_not_propose_what_the_others_cannot_accept_because_one_clock_is_far_ahead) {
  constexpr std::uint64_t mad = number + 3'600'000'000;
  ask();
  hear(0, granted(0, mad));
  hear(1, granted());
  EXPECT_FALSE(is_won(hear(2, granted())));
  EXPECT_TRUE(addressees(ballot_step::accept).empty());
  EXPECT_TRUE(is_won(hear(3, granted())));
  const auto won = ask();
  ASSERT_TRUE(is_grant(won));
  EXPECT_EQ(answer_in<tickets::place>(won)->token, fencing_token{number});
}

TEST_F(quorum_contender, proposes_below_a_fence_that_is_far_ahead_if_a_majority_can_accept_that) {
  constexpr std::uint64_t mad = number + 3'600'000'000;
  ask();
  hear(0, granted(0, mad));
  hear(1, granted(0, number + 5));
  hear(2, granted());
  hear(3, granted());
  ASSERT_FALSE(claim_.holds());
  ASSERT_EQ(addressees(ballot_step::accept), (std::set<std::size_t>{1, 2, 3}));
  const auto proposed = sent(1).token.value();
  EXPECT_GT(proposed, number + 5);
  EXPECT_LT(proposed, mad);
  hear(1, granted(proposed, proposed));
  hear(2, granted(proposed, proposed));
  EXPECT_TRUE(is_won(hear(3, granted(proposed, proposed))));
}

TEST_F(quorum_contender, proposes_above_the_fences_of_servers_whose_clocks_were_set_back) {
  constexpr std::uint64_t before = number + 3'600'000'000;
  ask();
  hear(0, granted(0, before));
  hear(1, granted(0, before + 5));
  hear(2, granted(0, before));
  ASSERT_EQ(addressees(ballot_step::accept), (std::set<std::size_t>{0, 1, 2}));
  const auto proposed = sent(0).token.value();
  EXPECT_GT(proposed, before + 5);
  hear(0, granted(proposed, proposed));
  hear(1, granted(proposed, proposed));
  EXPECT_TRUE(is_won(hear(2, granted(proposed, proposed))));
}

TEST_F(quorum_contender, proposes_again_without_a_server_that_is_silent) {
  ask();
  hear(0, granted());
  hear(1, granted());
  hear(2, granted(0, number + 3));
  const auto first = sent(0).token.value();
  hear(0, granted(first, first));
  hear(1, granted(first, first));
  hear(3, granted(0, first + 3));  // server 2 does not answer
  wake_after(silence);
  ASSERT_EQ(addressees(ballot_step::accept), (std::set<std::size_t>{0, 1, 2, 3}));
  const auto proposed = sent(0).token.value();
  EXPECT_GT(proposed, first + 3);
  for (const std::size_t server : {0, 1}) hear(server, granted(proposed, proposed));
  EXPECT_TRUE(is_won(hear(3, granted(proposed, proposed))));
}

TEST_F(quorum_contender, that_holds_is_claimed_in_the_queue_of_a_server_that_lacks_it) {
  ask();
  for (const std::size_t server : {0, 1, 2}) hear(server, granted());
  ASSERT_TRUE(claim_.holds());
  hear(3, failed(3));
  take(claim_.claim_at_missing(now_, 3));
  ASSERT_EQ(addressees(ballot_step::claim).count(3), 1U);
  EXPECT_TRUE(sent(3).wait);
  EXPECT_EQ(sent(3).weight, store::full_capacity);
}

TEST_F(quorum_contender, that_was_lowered_is_spread_as_a_reader) {
  ask();
  for (std::size_t i = 0; i < 5; ++i) hear(i, granted());
  claim_.lower();
  take(claim_.claim_at_missing(now_, 3));
  EXPECT_EQ(sent(3).weight, 1);
}

}  // namespace
}  // namespace holdfast::quorum
