// SPDX-License-Identifier: Apache-2.0
// The requests of a client to several servers, on virtual time: what a majority of the answers makes of them.

#include "unit/quorum_coordinator.hpp"

#include <gmock/gmock.h>

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// ---- claims

TEST_F(quorum_coordinator, asks_for_the_clocks_before_its_first_claim) {
  const auto first = send(claim(true));
  ASSERT_EQ(addressees(task::vote), everywhere);
  EXPECT_EQ(form_of(first_at(0)).token, fencing_token{}) << "that asks for the time alone";
  EXPECT_FALSE(form_of(first_at(0)).wait);
  const auto second = send(claim(true, 2));
  EXPECT_EQ(in_flight_[0].size(), 1U) << "once for all";
  reply({0, 1}, of(refused("")));
  EXPECT_EQ(in_flight_[0].size(), 0U);
  reply(2, of(refused("")));
  for (std::size_t i : {0, 1, 2}) EXPECT_EQ(in_flight_[i].size(), 2U) << "both claims";
  EXPECT_GT(form_of(first_at(0)).token, fencing_token{number});
  EXPECT_NE(form_of(in_flight_[0][0].request).token, form_of(in_flight_[0][1].request).token);
}

TEST_F(quorum_coordinator, that_does_not_learn_the_time_names_the_servers) {
  const auto got = send(claim(true));
  reply({0, 1}, of(refused("")));
  fail({2, 3});
  EXPECT_FALSE(*got);
  time_.run_for(silence);
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_EQ(error_in(got)->reason.code, errc::unavailable);
  EXPECT_TRUE(error_in(got)->retryable);
  EXPECT_FALSE(error_in(got)->maybe_executed) << "nothing was claimed";
  EXPECT_THAT(error_in(got)->reason.message,
              AllOf(HasSubstr("3 of 5 servers"), HasSubstr("host2:6379: server 2 is gone"),
                    HasSubstr("host3:6379: server 3 is gone"), HasSubstr("host4:6379 does not answer")));
}

TEST_F(quorum_coordinator, waits_for_the_first_answers_as_long_as_connecting_may_take) {
  auto terms = terms_of(5);
  terms.connecting = 5s;
  coordinator newcomer{time_, terms, *this};
  int answers = 0;
  time_.turn([&] { newcomer.send(claim(false), [&](const outcome&) { ++answers; }); });
  time_.turn([&] { newcomer.send(request(task::inspect), [&](const outcome&) { ++answers; }); });
  time_.run_for(4s);
  EXPECT_EQ(answers, 0);
  time_.run_for(2s);
  EXPECT_EQ(answers, 2);
}

TEST_F(quorum_coordinator, refuses_permits) {
  auto r = claim(false);
  r.capacity = 2;
  r.weight = 1;
  const auto got = send(r);
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_EQ(error_in(got)->reason.code, errc::invalid_argument);
  EXPECT_TRUE(addressees(task::vote).empty());
}

TEST_F(quorum_coordinator, leaves_nothing_of_a_try_that_was_refused) {
  const auto got = begin(claim(false));
  reply({0, 1}, grant());
  reply({2, 3, 4}, of(refused("a")));
  EXPECT_NE(in<tickets::refused>(got), nullptr);
  EXPECT_EQ(addressees(task::retract), everywhere);
  EXPECT_EQ(form_of(first_at(0)).owner, claim(false).owner);
}

TEST_F(quorum_coordinator, knows_no_claim_that_was_not_made) {
  const auto got = send(request(task::find));
  EXPECT_NE(in<tickets::nothing>(got), nullptr);
}

TEST_F(quorum_coordinator, reports_the_grant_of_a_claim_that_waits) {
  const auto got = begin(claim(true));
  const outcome won = grant();
  reply(everywhere, of(queued()));
  ASSERT_NE(in<tickets::place>(got), nullptr);
  for (const std::size_t i : {0, 1, 2}) {
    EXPECT_TRUE(notified_.empty());
    notify_of(i, store::notification_kind::granted, fencing_token{number});
    reply(i, won);
  }
  ASSERT_EQ(notified_.size(), 1U);
  EXPECT_EQ(notified_[0].kind, store::notification_kind::granted);
  const auto known = send(request(task::look));
  ASSERT_NE(in<tickets::place>(known), nullptr);
  EXPECT_TRUE(in<tickets::place>(known)->granted);
}

TEST_F(quorum_coordinator, counts_no_vote_that_may_have_been_ended_by_force) {
  const auto got = begin(claim(true));
  const auto vote = grant();
  reply({0, 1}, vote);
  notify_of(0, store::notification_kind::revoked, number_of_claim_);
  reply(2, vote);
  ASSERT_NE(in<tickets::place>(got), nullptr);
  EXPECT_FALSE(in<tickets::place>(got)->granted);
  reply(0, vote);
  EXPECT_EQ(notified_.back().kind, store::notification_kind::granted);
}

TEST_F(quorum_coordinator, takes_the_end_of_a_former_claim_for_none_of_a_later_one) {
  hold_at(everywhere);
  const fencing_token former{number_of_claim_.value() - 1};
  notify_of(0, store::notification_kind::revoked, former);
  EXPECT_TRUE(notified_.empty());
  notify_of(0, store::notification_kind::revoked, number_of_claim_);
  ASSERT_FALSE(notified_.empty());
  EXPECT_EQ(notified_.back().kind, store::notification_kind::revoked);
}

TEST_F(quorum_coordinator, passes_a_request_to_release_on_with_the_token_of_the_claim) {
  hold_at(everywhere);
  const auto before = notified_.size();
  time_.turn([&] {
    coordinator_.on_notification(
        3, {claim(false).owner, store::notification_kind::release_requested, fencing_token{99}});
    coordinator_.on_notification(3, {claim(false, 7).owner, store::notification_kind::release_requested, {}});
  });
  ASSERT_EQ(notified_.size(), before + 1);
  EXPECT_EQ(notified_.back().kind, store::notification_kind::release_requested);
  const auto known = send(request(task::look));
  ASSERT_NE(in<tickets::place>(known), nullptr);
  EXPECT_EQ(notified_.back().token, in<tickets::place>(known)->token);
}

// ---- the ends of claims

TEST_F(quorum_coordinator, releases_by_the_first_majority) {
  hold_at(everywhere);
  const auto got = send(request(task::release));
  EXPECT_EQ(addressees(task::retract), everywhere);
  reply({0, 1}, of(tickets::done{}));
  EXPECT_FALSE(*got);
  reply(2, of(tickets::nothing{}));
  EXPECT_NE(in<tickets::done>(got), nullptr);
}

TEST_F(quorum_coordinator, says_that_there_was_nothing_to_release) {
  hold_at(everywhere);
  const auto got = send(request(task::release));
  reply({0, 1, 2}, of(tickets::nothing{}));
  EXPECT_NE(in<tickets::nothing>(got), nullptr);
}

// A client that is closed waits for that: what is left at a minority is in everybody's way for a ttl.
TEST_F(quorum_coordinator, has_delivered_a_release_when_every_server_has_it) {
  hold_at(everywhere);
  bool is_delivered = false;
  const auto ask = [&] { coordinator_.when_delivered([&] { is_delivered = true; }); };
  const auto got = send(request(task::release));
  time_.turn(ask);
  reply({0, 1, 2}, of(tickets::done{}));
  EXPECT_TRUE(*got) << "its caller has been answered";
  EXPECT_FALSE(is_delivered);
  reply(3, failed(3));
  EXPECT_FALSE(is_delivered);
  reply(4, of(tickets::done{}));
  EXPECT_TRUE(is_delivered) << "a server that cannot be reached is not waited for";
  is_delivered = false;
  time_.turn(ask);
  EXPECT_TRUE(is_delivered) << "nothing is under way";
}

TEST_F(quorum_coordinator, waits_no_longer_for_the_delivery_to_a_silent_server_than_for_any_answer) {
  hold_at(everywhere);
  bool is_delivered = false;
  send(request(task::release));
  time_.turn([&] { coordinator_.when_delivered([&] { is_delivered = true; }); });
  reply({0, 1, 2, 3}, of(tickets::done{}));
  EXPECT_FALSE(is_delivered);
  time_.run_for(silence);
  EXPECT_TRUE(is_delivered);
}

TEST_F(quorum_coordinator, accuses_no_server_that_it_has_not_waited_for) {
  const auto got = send(claim(true));
  fail({0, 1, 2});
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_THAT(error_in(got)->reason.message,
              AllOf(HasSubstr("3 of 5 servers"), HasSubstr("host2:6379: server 2 is gone"),
                    Not(HasSubstr("does not answer"))));
}

TEST_F(quorum_coordinator, repeats_a_release_until_it_is_confirmed) {
  hold_at(everywhere);
  send(request(task::release));
  reply({0, 1, 2, 4}, of(tickets::done{}));
  for (int i = 0; i < 3; ++i) {
    reply(3, failed(3));
    EXPECT_TRUE(addressees(task::retract).empty()) << "not at once";
    time_.run_for(1s);
    EXPECT_EQ(addressees(task::retract), servers{3});
    EXPECT_EQ(in_flight_[3].size(), 1U);
  }
  reply(3, of(tickets::done{}));
  time_.run_for(60s);
  EXPECT_TRUE(addressees(task::retract).empty());
}

TEST_F(quorum_coordinator, repeats_a_release_no_longer_than_the_ttl) {
  hold_at(everywhere);
  send(request(task::release));
  reply({0, 1, 2, 4}, of(tickets::done{}));
  int tries = 0;
  for (; !addressees(task::retract).empty(); ++tries) {
    reply(3, failed(3));
    time_.run_for(1s);
  }
  EXPECT_GT(tries, 20);
  EXPECT_LE(tries, 31);
  time_.run_for(60s);
  EXPECT_TRUE(addressees(task::retract).empty());
}

TEST_F(quorum_coordinator, that_releases_and_hears_too_little_names_the_servers) {
  hold_at(everywhere);
  const auto got = send(request(task::release));
  reply({0, 1}, of(tickets::done{}));
  fail({2, 3});
  time_.run_for(silence);
  expect_named(got, {2, 3});
}

TEST_F(quorum_coordinator, hears_nothing_of_a_claim_that_has_ended) {
  begin(claim(true));
  const outcome late = grant();
  send(request(task::withdraw));
  reply(everywhere, late);
  time_.run_for(60s);
  EXPECT_TRUE(notified_.empty());
  EXPECT_EQ(addressees(task::retract), everywhere);
  EXPECT_EQ(in_flight_[0].size(), 1U);
}

/// What the owner claims again is another claim, with a larger number.
TEST_F(quorum_coordinator, ends_no_claim_that_its_owner_makes_later) {
  begin(claim(false));
  const fencing_token former = number_of_claim_;
  reply({0, 1}, grant());
  reply({2, 3, 4}, of(refused("a")));
  ASSERT_EQ(addressees(task::retract), everywhere);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(form_of(first_at(i)).last, former);
  reply({0, 1, 2, 3}, of(tickets::done{}));
  send(claim(false));
  EXPECT_GT(form_of(first_at(0)).token, former);
}

TEST_F(quorum_coordinator, repeats_no_withdrawal_of_an_owner_that_has_claimed_again) {
  begin(claim(false));
  reply({0, 1}, grant());
  reply({2, 3, 4}, of(refused("a")));
  reply({0, 1, 2}, of(tickets::done{}));
  reply(3, failed(3));
  const auto again = send(claim(false));
  const fencing_token later = form_of(first_at(0)).token;
  reply(4, failed(4));  // the withdrawal
  reply({0, 1, 2}, grant());
  ASSERT_NE(in<tickets::place>(again), nullptr);
  time_.run_for(1s);
  EXPECT_TRUE(addressees(task::retract).empty());
  send(request(task::release));
  reply({0, 1, 2}, of(tickets::done{}));
  reply({3, 4}, failed(3));  // the claim
  ASSERT_EQ(addressees(task::retract), (servers{3, 4}));
  EXPECT_EQ(form_of(first_at(3)).last, later);
}

TEST_F(quorum_coordinator, lowers_a_hold_by_a_majority) {
  hold_at(everywhere);
  const auto got = send(request(task::downgrade));
  reply({0, 1}, of(tickets::done{}));
  EXPECT_FALSE(*got);
  reply(4, of(tickets::done{}));
  EXPECT_NE(in<tickets::done>(got), nullptr);
}

TEST_F(quorum_coordinator, that_stops_sends_nothing_more) {
  hold_at(everywhere);
  const auto got = send(request(task::release));
  coordinator_.stop();
  reply({0, 1, 2}, failed(0));
  time_.run_for(60s);
  EXPECT_FALSE(*got);
  EXPECT_EQ(addressees(task::retract), (servers{3, 4}));
}

}  // namespace
}  // namespace holdfast::quorum
