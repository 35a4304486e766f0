// SPDX-License-Identifier: Apache-2.0
// What a client asks of all servers: the renewals of its holds, and what anybody may ask.

#include <gmock/gmock.h>
#include <memory>
#include <string>

#include "unit/quorum_coordinator.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// ---- renewals

TEST_F(quorum_coordinator, keeps_a_hold_that_a_majority_has_kept) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply(0, failed(0));
  reply({1, 2}, kept(true));
  EXPECT_FALSE(*got);
  reply(3, kept(true));
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_EQ(in<tickets::kept>(got)->each, std::vector<bool>{true});
  EXPECT_TRUE(in<tickets::kept>(got)->unsure.empty());
}

TEST_F(quorum_coordinator, loses_a_hold_that_a_majority_can_not_have_any_more) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply({0, 1}, kept(false));
  EXPECT_FALSE(*got) << "three may have it";
  reply(2, kept(false));
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_EQ(in<tickets::kept>(got)->each, std::vector<bool>{false});
  EXPECT_TRUE(in<tickets::kept>(got)->unsure.empty());
}

TEST_F(quorum_coordinator, does_not_take_a_hold_for_lost_that_too_few_servers_know_of) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply({0, 1}, kept(true));
  reply(2, kept(false));
  reply({3, 4}, unsure());
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_EQ(in<tickets::kept>(got)->each, std::vector<bool>{false});
  EXPECT_EQ(in<tickets::kept>(got)->unsure, std::vector<std::size_t>{0});
}

TEST_F(quorum_coordinator, names_the_servers_without_which_a_hold_cannot_be_renewed) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply({0, 1}, kept(true));
  fail({2, 3, 4});
  expect_named(got, {2, 3, 4});
}

TEST_F(quorum_coordinator, renews_without_servers_that_are_silent) {
  hold_at(everywhere);
  const auto few = send(renewal());
  reply({0, 1}, kept(true));
  time_.run_for(silence);
  ASSERT_TRUE(*few);
  if (const auto* k = in<tickets::kept>(few)) {
    EXPECT_EQ(k->unsure, std::vector<std::size_t>{0});
  } else {
    EXPECT_TRUE(error_in(few)->retryable);
  }
}

// What a server keeps may be a former claim of the owner, whose withdrawal has not come there yet, and may.
TEST_F(quorum_coordinator, claims_a_hold_at_servers_that_have_not_answered_this_claim) {
  hold_at({0, 1, 2});
  reply({3, 4}, failed(3));
  const auto got = send(renewal());
  reply(everywhere, kept(true));
  ASSERT_TRUE(*got);
  EXPECT_EQ(addressees(task::vote), (servers{3, 4}));
  reply({3, 4}, grant());
  const auto next = send(renewal());
  reply(everywhere, kept(true));
  ASSERT_TRUE(*next);
  EXPECT_EQ(addressees(task::vote), servers{}) << "they have granted it since";
}

// What a server has of the owner is this claim, whether it waits there or holds.
TEST_F(quorum_coordinator, claims_no_hold_where_it_has_waited) {
  hold_at({0, 1, 2});
  reply({3, 4}, of(queued()));
  const auto got = send(renewal());
  reply(everywhere, kept(true));
  ASSERT_TRUE(*got);
  EXPECT_EQ(addressees(task::vote), servers{});
}

/// A claim that holds by servers 1, 2 and 3. Server 0 has granted it, too, and the yield of that grant has
/// had no answer: it may be carried out later.
class yielding_hold : public quorum_coordinator {
 protected:
  yielding_hold() {
    const auto got = begin(claim(true));
    const outcome granted_here = grant();
    reply(0, of(overtaken(1)));
    reply(0, failed(0));
    reply({1, 2, 3}, granted_here);
    EXPECT_TRUE(*got);
    reply(4, failed(4));
  }
};

TEST_F(yielding_hold, is_not_kept_by_a_vote_that_is_given_back) {
  const auto got = send(renewal());
  reply({0, 1, 2}, kept(true));
  EXPECT_FALSE(*got) << "the vote of server 0 may end at any time";
  EXPECT_EQ(addressees(task::yield), servers{0}) << "its answer settles that";
  reply(3, kept(false));
  reply(4, failed(4));
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_EQ(in<tickets::kept>(got)->unsure, std::vector<std::size_t>{0});
}

TEST_F(yielding_hold, is_kept_by_a_vote_that_stays) {
  const auto first = send(renewal());
  reply(0, kept(true));
  reply(0, of(granted(number, number, 2)));
  const auto next = send(renewal());
  reply({1, 2}, kept(true));
  reply({3, 4}, failed(3));
  ASSERT_TRUE(*first);
  reply({0, 1, 2}, kept(true));
  ASSERT_NE(in<tickets::kept>(next), nullptr);
  EXPECT_EQ(in<tickets::kept>(next)->each, std::vector<bool>{true});
}

// Renewals go out together. What one hold is missing is not to wait until it is known of all the others.
TEST_F(quorum_coordinator, claims_a_hold_at_servers_that_miss_it_beside_one_that_too_few_servers_know_of) {
  hold_at(everywhere);
  const auto got = send(renewal(2));
  reply({0, 1}, kept(true, true));
  reply(2, kept(true, false));
  reply(3, kept(false, false));
  reply(4, failed(4));
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_EQ(in<tickets::kept>(got)->unsure, std::vector<std::size_t>{1});
  EXPECT_EQ(addressees(task::vote), servers{3});
}

// The limit ends a round before a majority has answered. The answer that completes it may come later, and be
// the same one in each round.
TEST_F(quorum_coordinator, claims_a_hold_at_servers_that_miss_it_when_the_majority_answers_late) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply({0, 1}, kept(true));
  reply(2, kept(false));
  time_.run_for(silence);
  ASSERT_TRUE(*got);
  EXPECT_EQ(addressees(task::vote), servers{}) << "it may be lost";
  reply(3, kept(true));
  EXPECT_EQ(addressees(task::vote), servers{2});
  reply(4, kept(false));
  EXPECT_EQ(addressees(task::vote), (servers{2, 4}));
}

TEST_F(quorum_coordinator, claims_each_hold_once_at_a_server_that_misses_it) {
  hold_at(everywhere);
  const auto other = send(claim(true, 2));
  reply(everywhere, grant());
  ASSERT_TRUE(*other);
  const auto got = send(renewal(2));
  reply({0, 1}, kept(true, true));
  reply(2, kept(false, false));
  reply(3, kept(true, false));
  EXPECT_EQ(addressees(task::vote), servers{2});
  ASSERT_EQ(in_flight_[2].size(), 1U);
  EXPECT_EQ(form_of(first_at(2)).owner, claim(true).owner);
  time_.run_for(silence);
  ASSERT_TRUE(*got);
  reply(4, kept(true, true));
  ASSERT_EQ(in_flight_[2].size(), 2U) << "the other one alone is claimed now";
  EXPECT_EQ(form_of(in_flight_[2].back().request).owner, claim(true, 2).owner);
  ASSERT_EQ(in_flight_[3].size(), 1U);
  EXPECT_EQ(form_of(first_at(3)).owner, claim(true, 2).owner);
}

// Each server notifies the holder, and a renewal after the first of these comes before the others have ended
// it.
TEST_F(quorum_coordinator, claims_nothing_for_a_hold_that_is_being_ended_by_force) {
  hold_at(everywhere);
  notify_of(0, store::notification_kind::revoked, number_of_claim_);
  const auto got = send(renewal());
  reply(0, kept(false));
  reply({1, 2, 3, 4}, kept(true));
  ASSERT_TRUE(*got);
  EXPECT_EQ(addressees(task::vote), servers{});
}

// One read brings the answer and the notification, and the answer is heard first.
TEST_F(quorum_coordinator, claims_nothing_for_a_hold_whose_end_is_told_together_with_the_answer) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply({1, 2, 3, 4}, kept(true));
  const auto renewed = std::move(in_flight_[0].front());
  in_flight_[0].pop_front();
  time_.turn([&] {
    renewed.done(kept(false));
    coordinator_.on_notification(0, {claim(true).owner, store::notification_kind::revoked, number_of_claim_});
  });
  ASSERT_TRUE(*got);
  EXPECT_EQ(addressees(task::vote), servers{});
}

// Anybody can send one. The servers that come back empty need not stay without the hold.
TEST_F(quorum_coordinator, claims_a_hold_again_some_time_after_a_notification_that_was_false) {
  hold_at(everywhere);
  notify_of(0, store::notification_kind::revoked, number_of_claim_);
  time_.run_for(claim(true).ttl);
  send(renewal());
  reply({0, 1, 2, 3}, kept(true));
  reply(4, kept(false));
  EXPECT_EQ(addressees(task::vote), servers{4});
}

TEST_F(quorum_coordinator, claims_nothing_for_a_hold_that_is_lost) {
  hold_at({0, 1, 2});
  reply({3, 4}, failed(3));
  send(renewal());
  reply({3, 4, 0}, kept(false));
  EXPECT_TRUE(addressees(task::vote).empty());
}

// A renewal does not show it: the hold may have come back with the files of the server.
TEST_F(quorum_coordinator, tells_the_token_again_with_the_renewal_behind_a_restart) {
  auto r = claim(true);
  r.metadata = std::make_shared<const std::string>("{}");
  const auto got = begin(std::move(r));
  reply({0, 1, 2, 4}, grant());
  ASSERT_TRUE(*got);
  reply(3, of(granted(0, number + 1)));
  ASSERT_EQ(addressees(task::annotate), servers{3});
  reply(3, of(tickets::done{}));
  const auto renew = [&] {
    send(renewal());
    reply(everywhere, kept(true));
  };
  renew();
  EXPECT_EQ(addressees(task::annotate), servers{});
  time_.turn([&] { coordinator_.connected(3); });
  renew();
  EXPECT_EQ(addressees(task::annotate), servers{3});
}

// ---- what everybody may ask

lock_state held_by(const owner_id& owner, std::uint64_t token) {
  lock_state s;
  s.holders.emplace_back();
  s.holders[0].owner = owner.hex();
  s.holders[0].token = fencing_token{token};
  return s;
}

TEST_F(quorum_coordinator, inspects_what_a_majority_says_and_does_not_wait_for_the_others) {
  const outcome held = of(std::optional{held_by(claim(true).owner, number)});
  const auto got = send(request(task::inspect));
  reply({0, 1, 2}, held);
  reply(3, failed(3));
  time_.run_for(silence);
  ASSERT_NE(in<std::optional<lock_state>>(got), nullptr);
  EXPECT_EQ((*in<std::optional<lock_state>>(got))->holders.size(), 1U);
  const auto few = send(request(task::inspect));
  reply({0, 1}, held);
  fail({2, 3});
  time_.run_for(silence);
  ASSERT_NE(error_in(few), nullptr);
  EXPECT_THAT(error_in(few)->reason.message, HasSubstr("server 2"));
}

TEST_F(quorum_coordinator, waits_once_for_a_server_that_is_silent) {
  const outcome held = of(std::optional{held_by(claim(true).owner, number)});
  const auto first = send(request(task::inspect));
  reply({0, 1, 2, 3}, held);
  EXPECT_FALSE(*first);
  time_.run_for(silence);
  ASSERT_NE(in<std::optional<lock_state>>(first), nullptr);
  const auto& notes = (*in<std::optional<lock_state>>(first))->notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].text, "does not answer");
  EXPECT_FALSE(notes[0].answers);
  const auto second = send(request(task::inspect));
  reply({0, 1, 2, 3}, held);
  EXPECT_TRUE(*second) << "it waits again";
  reply(4, held);
  const auto third = send(request(task::inspect));
  reply({0, 1, 2, 3}, held);
  EXPECT_FALSE(*third) << "the server has answered meanwhile";
}

TEST_F(quorum_coordinator, lists_as_long_as_parts_come) {
  const auto got = send(request(task::list));
  for (int part = 0; part < 10; ++part) {
    time_.run_for(silence / 2);
    reply(everywhere, of(tickets::more{nullptr, true}));
    ASSERT_FALSE(*got) << part;
  }
  reply(everywhere, of(std::vector<lock_summary>{}));
  EXPECT_NE(in<std::vector<lock_summary>>(got), nullptr);
}

TEST_F(quorum_coordinator, forces_the_end_of_holds_by_their_owners) {
  const outcome held = of(std::optional{held_by(claim(true).owner, number)});
  auto r = request(task::force_release);
  r.token = {};
  const auto got = send(r);
  reply(everywhere, held);
  ASSERT_EQ(addressees(task::end_hold), everywhere);
  EXPECT_EQ(form_of(first_at(0)).owner, claim(true).owner);
  EXPECT_EQ(form_of(first_at(0)).last, fencing_token{number}) << "a later claim of that owner is not meant";
  reply({0, 1, 2}, of(tickets::count{1}));
  reply(3, of(tickets::count{0}));
  reply(4, failed(4));
  ASSERT_NE(in<tickets::count>(got), nullptr);
  EXPECT_EQ(in<tickets::count>(got)->value, 1U);
}

TEST_F(quorum_coordinator, forces_no_end_of_a_hold_with_another_token) {
  auto r = request(task::force_release);
  r.token = r.last = fencing_token{number - 1};
  const auto got = send(r);
  reply(everywhere, of(std::optional{held_by(claim(true).owner, number)}));
  ASSERT_NE(in<tickets::count>(got), nullptr);
  EXPECT_EQ(in<tickets::count>(got)->value, 0U);
}

TEST_F(quorum_coordinator, leaves_a_foreign_hold_alone) {
  lock_state foreign = held_by({}, 0);
  foreign.holders[0].owner = "plain text";
  auto r = request(task::force_release);
  r.token = {};
  const auto got = send(r);
  reply(everywhere, of(std::optional{foreign}));
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_EQ(error_in(got)->reason.code, errc::wrong_type);
}

}  // namespace
}  // namespace holdfast::quorum
