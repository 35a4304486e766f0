// SPDX-License-Identifier: Apache-2.0
// The acquisition without faults: what it requests, when, and from when a grant counts.

#include <gmock/gmock.h>
#include <memory>

#include "core/stepper.hpp"

namespace holdfast {
namespace {

using namespace test;

constexpr std::uint64_t ticket = 7;

void expect_grant(const stepper::step& s, std::uint64_t token, store::time_point valid_from) {
  ASSERT_TRUE(grant_of(s));
  EXPECT_EQ(grant_of(s)->token, fencing_token{token});
  EXPECT_EQ(grant_of(s)->valid_from, valid_from);
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.send);
}

TEST(acquisition, asks_for_all_that_is_claimed) {
  store::claim c = a_claim(3);
  c.mode = mode::permits;
  c.permits = 2;
  c.capacity = 5;
  stepper it{c};
  const auto s = it.start();
  ASSERT_EQ(task_of(s), task::acquire);
  EXPECT_EQ(form_of(*s.send).name, "stock");
  EXPECT_EQ(form_of(*s.send).owner, id(3));
  EXPECT_EQ(form_of(*s.send).weight, 2);
  EXPECT_EQ(form_of(*s.send).capacity, 5);
  EXPECT_EQ(form_of(*s.send).ttl, 30s);
  EXPECT_TRUE(form_of(*s.send).wait);
  EXPECT_EQ(form_of(*s.send).metadata, c.metadata);
  EXPECT_FALSE(form_of(*s.send).token) << "the store draws it";
  EXPECT_EQ(s.wake_at, epoch + c.retry.limit()) << "no answer is waited for longer";
  EXPECT_FALSE(s.answer || s.finished);
}

TEST(acquisition, is_granted_at_once_and_counts_from_the_sending) {
  stepper it;
  it.start();
  it.pass(80ms);
  expect_grant(it.reply(granted_at(ticket)), ticket, epoch);
}

// A store that decides on one claim after the other lets it wait for that.
TEST(acquisition, is_denied_by_the_look_after_it_has_lined_up) {
  for (const tickets::reply& denial :
       {tickets::reply{tickets::refused{}}, tickets::reply{tickets::other_capacity{3}}}) {
    stepper it;
    it.queue(waiting_at(ticket));
    it.wake();
    const auto s = it.reply(denial);
    EXPECT_TRUE(s.finished) << "nothing of it is there";
    const bool is_refused = std::holds_alternative<tickets::refused>(denial);
    EXPECT_EQ(std::holds_alternative<store::refused>(*s.answer), is_refused);
    if (!is_refused) {
      EXPECT_EQ(failure_of(s), errc::wrong_type);
    }
  }
}

TEST(acquisition, is_refused_without_a_trace) {
  stepper it;
  it.start();
  const auto s = it.reply(tickets::refused{});
  ASSERT_TRUE(s.answer);
  EXPECT_TRUE(std::holds_alternative<store::refused>(*s.answer));
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.send);
}

TEST(acquisition, says_what_else_the_name_is_used_as) {
  for (const auto& [capacity, use] :
       {std::pair<std::int64_t, const char*>{5, "semaphore of 5"}, {store::full_capacity, "mutex"}}) {
    stepper it;
    it.start();
    const auto s = it.reply(tickets::other_capacity{capacity});
    EXPECT_EQ(failure_of(s), errc::wrong_type);
    const auto& message = std::get<failure>(*s.answer).message;
    EXPECT_THAT(message, testing::HasSubstr(use));
    EXPECT_THAT(message,
                testing::HasSubstr("and a mutex was asked for. It can be that when nobody holds it"));
    EXPECT_TRUE(s.finished) << "there is nothing to withdraw";
    EXPECT_FALSE(s.send);
  }
}

TEST(acquisition, says_that_an_election_was_asked_for) {
  auto claim = a_claim();
  claim.election = true;
  stepper it{claim};
  it.start();
  const auto s = it.reply(tickets::other_capacity{5});
  EXPECT_THAT(std::get<failure>(*s.answer).message, testing::HasSubstr(", and an election was asked for."));
}

TEST(acquisition, ends_with_the_reason_where_the_store_grants_nothing_and_it_does_not_wait) {
  stepper it;
  it.start();
  const auto s = it.reply(tickets::paused{{errc::unavailable, "it may have forgotten"}});
  EXPECT_EQ(failure_of(s), errc::unavailable);
  EXPECT_EQ(std::get<failure>(*s.answer).message, "it may have forgotten");
  EXPECT_TRUE(s.finished) << "there is nothing to withdraw";
  EXPECT_FALSE(s.send);
}

TEST(acquisition, of_a_try_looks_once_at_a_grant_that_arrives_late) {
  for (const bool elects : {false, true}) {
    store::claim attempt = a_claim();
    attempt.wait = false;
    attempt.election = elects;
    stepper it{attempt};
    it.start();
    it.pass(30s);
    ASSERT_EQ(task_of(it.reply(granted_at(ticket))), task::look);
    it.pass(30s);
    EXPECT_EQ(failure_of(it.reply(granted_at(ticket))), errc::lost);
  }
}

// On several servers a look of a try may ask them anew, while they grant nothing.
TEST(acquisition, ends_a_try_whose_look_meets_a_pause) {
  store::claim attempt = a_claim();
  attempt.wait = false;
  stepper it{attempt};
  it.start();
  it.pass(20s);
  ASSERT_EQ(task_of(it.reply(granted_at(ticket))), task::look);
  const auto s = it.reply(tickets::paused{{errc::unavailable, "it may have forgotten"}});
  EXPECT_EQ(failure_of(s), errc::unavailable);
  EXPECT_EQ(task_of(s), task::withdraw) << "it was there before";
}

TEST(acquisition, takes_no_other_answer_for_a_place) {
  stepper it;
  it.start();
  EXPECT_EQ(failure_of(it.reply(tickets::done{})), errc::corrupt_store);
  stepper waits;
  waits.queue(waiting_at(ticket));
  waits.wake();
  EXPECT_EQ(failure_of(waits.reply(tickets::kept{{true}})), errc::corrupt_store);
}

TEST(acquisition, waits_where_the_store_grants_nothing_and_knows_why) {
  stepper it;
  auto place = head_at(ticket, 18s);
  place.pause = failure{errc::unavailable, "it may have forgotten"};
  const auto s = it.queue(place);
  EXPECT_EQ(s.wake_at, tickets::next_look(place, epoch, 30s, epoch, it.chance));
  ASSERT_TRUE(it.last_error());
  EXPECT_EQ(it.last_error()->message, "it may have forgotten");
  it.pass_until(s.wake_at);
  it.wake();
  it.reply(head_at(ticket, 200ms));
  EXPECT_FALSE(it.last_error()) << "others hold";
}

TEST(acquisition, keeps_its_place_by_looking_again) {
  stepper it;
  auto s = it.queue(waiting_at(ticket));
  EXPECT_EQ(s.wake_at, tickets::next_look(waiting_at(ticket), epoch, 30s, epoch, it.chance));
  EXPECT_FALSE(s.send || s.answer || s.finished);

  it.pass_until(s.wake_at);
  s = it.wake();
  ASSERT_EQ(task_of(s), task::look);
  EXPECT_EQ(form_of(*s.send).name, "stock");
  EXPECT_EQ(form_of(*s.send).owner, id(1));
  EXPECT_EQ(form_of(*s.send).token, fencing_token{ticket});
  EXPECT_EQ(form_of(*s.send).ttl, 30s);

  const auto looked = it.now;
  it.pass(50ms);
  s = it.reply(head_at(ticket, 200ms));
  EXPECT_EQ(s.wake_at, tickets::next_look(head_at(ticket, 200ms), looked, 30s, it.now, it.chance));
}

/// A notification says that it holds: it looks, and holds when the answer says so.
void expect_grant_by_notification(stepper& it, std::uint64_t token) {
  ASSERT_EQ(task_of(it.notify(grant_of(token))), task::look);
  const auto looked = it.now;
  it.pass(10ms);
  expect_grant(it.reply(granted_at(token)), token, looked);
}

TEST(acquisition, looks_when_it_is_notified_of_its_grant_and_counts_from_that_look) {
  stepper it;
  it.start();
  it.pass(20ms);
  it.reply(waiting_at(ticket));
  it.pass(4s);
  expect_grant_by_notification(it, ticket);
}

TEST(acquisition, believes_no_forged_notification_of_its_grant) {
  stepper it;
  it.queue(waiting_at(ticket));
  for (int forged = 0; forged < 3; ++forged) {
    const auto s = it.notify(grant_of(ticket));
    EXPECT_FALSE(s.answer) << "anybody may have sent it";
    ASSERT_EQ(task_of(s), task::look);
    EXPECT_FALSE(it.reply(waiting_at(ticket)).answer);
  }
}

constexpr std::uint64_t secret = 0xfeed;
constexpr std::uint64_t connection = 3;

/// A place whose notifications can prove its grant.
tickets::place provable_at(std::uint64_t token) {
  tickets::place at = waiting_at(token);
  at.position = {connection, 1};
  return at;
}

store::notification proof_of(std::uint64_t token) {
  store::notification n = grant_of(token);
  n.proof = secret;
  n.position = {connection, 2};
  return n;
}

stepper provable() {
  stepper it;
  it.chance = secret;
  return it;
}

TEST(acquisition, believes_a_proven_grant_and_counts_from_the_last_answered_request) {
  stepper it = provable();
  EXPECT_EQ(std::get<tickets::acquire>(*it.start().send).proof, secret);
  it.pass(20ms);
  it.reply(provable_at(ticket));
  it.pass(9s);
  it.wake();
  const auto looked = it.now;
  it.pass(20ms);
  it.reply(provable_at(ticket));
  it.pass(4s);
  const auto s = it.notify(proof_of(ticket));
  expect_grant(s, ticket, looked);
  EXPECT_TRUE(grant_of(s)->is_notified);
}

TEST(acquisition, looks_at_a_grant_of_which_something_is_not_proven) {
  const auto changed = [](auto change) {
    store::notification n = proof_of(ticket);
    change(n);
    return n;
  };
  for (const store::notification& n :
       {changed([](auto& of) { of.proof = 0; }), changed([](auto& of) { of.proof = secret + 1; }),
        changed([](auto& of) { of.position.connection = 0; }),
        changed([](auto& of) { of.position.connection = 4; }),
        changed([](auto& of) { of.position.message = 1; }),  // the answer came behind it
        changed([](auto& of) { of.kind = store::notification_kind::look; })}) {
    stepper it = provable();
    it.queue(provable_at(ticket));
    it.pass(1s);
    const auto s = it.notify(n);
    EXPECT_EQ(task_of(s), task::look);
    EXPECT_FALSE(s.answer);
    EXPECT_FALSE(grant_of(it.reply(granted_at(ticket)))->is_notified);
  }
}

TEST(acquisition, believes_no_proof_for_a_place_that_it_does_not_have) {
  stepper it = provable();
  it.queue(provable_at(ticket));
  EXPECT_TRUE(is_quiet(it.notify(proof_of(ticket - 1))));
  it.pass(40s);
  it.wake();
  it.chance = 99;
  EXPECT_EQ(std::get<tickets::acquire>(*it.reply(tickets::nothing{}).send).proof, 99U) << "a new one";
  it.reply(provable_at(ticket + 5));
  EXPECT_EQ(task_of(it.notify(proof_of(ticket + 5))), task::look) << "the secret of the former place";
}

TEST(acquisition, believes_no_proof_where_the_store_proves_nothing) {
  stepper it = provable();
  it.queue(waiting_at(ticket));
  store::notification n = proof_of(ticket);
  n.position.connection = 0;
  EXPECT_EQ(task_of(it.notify(n)), task::look);
}

TEST(acquisition, lets_the_answer_decide_if_a_proof_comes_while_a_request_is_under_way) {
  stepper it = provable();
  it.queue(provable_at(ticket));
  it.pass(9s);
  it.wake();
  EXPECT_TRUE(is_quiet(it.notify(proof_of(ticket))));
  EXPECT_EQ(task_of(it.reply(provable_at(ticket))), task::look);
  it.cancel();
  EXPECT_TRUE(is_quiet(it.notify(proof_of(ticket)))) << "nobody wants it any more";
  EXPECT_EQ(task_of(it.reply(granted_at(ticket))), task::withdraw);
}

// Another server may have made the place, and used the secret.
TEST(acquisition, believes_no_proof_for_a_place_that_it_has_found_by_itself) {
  stepper it = provable();
  it.queue(provable_at(ticket));
  it.pass(40s);
  it.wake();
  ASSERT_EQ(task_of(it.reply(tickets::nothing{})), task::acquire);
  it.fail({{errc::unavailable, "the answer is lost"}, true, true});
  it.wake();
  ASSERT_EQ(task_of(it.reply(provable_at(ticket + 5))), task::look);
  it.reply(provable_at(ticket + 5));
  EXPECT_EQ(task_of(it.notify(proof_of(ticket + 5))), task::look);
}

TEST(acquisition, looks_at_a_proven_grant_of_which_half_of_the_ttl_is_over) {
  for (const auto& [passed, is_late] : {std::pair{15s - margin - 1ms, false}, {15s - margin, true}}) {
    stepper it = provable();
    it.queue(provable_at(ticket));
    it.pass(passed);
    const auto s = it.notify(proof_of(ticket));
    EXPECT_EQ(s.answer.has_value(), !is_late);
    EXPECT_EQ(s.send.has_value(), is_late);
  }
}

TEST(acquisition, brings_no_secret_if_it_does_not_wait_or_begins_a_lease_that_nobody_renews) {
  for (const bool waits : {false, true}) {
    store::claim c = a_claim();
    c.wait = waits;
    c.renews = !waits;
    stepper it{c};
    it.chance = secret;
    EXPECT_EQ(std::get<tickets::acquire>(*it.start().send).proof, 0U);
  }
}

// The server that answers now may have been another one's replica: it has not seen the secret used.
TEST(acquisition, believes_no_proof_once_another_server_has_answered_for_its_place) {
  stepper it = provable();
  it.queue(provable_at(ticket));
  it.notify({{}, store::notification_kind::look, {}});
  tickets::place there = provable_at(ticket);
  there.position.connection = connection + 1;
  it.reply(there);
  store::notification n = proof_of(ticket);
  n.position.connection = connection + 1;
  EXPECT_EQ(task_of(it.notify(n)), task::look);
}

TEST(acquisition, leaves_its_place_for_no_forged_notification_of_its_end) {
  stepper it;
  it.queue(waiting_at(ticket));
  ASSERT_EQ(task_of(it.notify(revocation(ticket))), task::look);
  auto s = it.reply(waiting_at(ticket));
  EXPECT_FALSE(s.send || s.answer) << "it stands where it stood";
  it.notify(revocation(ticket));
  EXPECT_EQ(task_of(it.reply(tickets::nothing{})), task::acquire) << "this time it is true";
}

TEST(acquisition, asks_no_more_often_than_it_is_answered_however_many_notifications_come) {
  stepper it;
  it.queue(waiting_at(ticket));
  it.notify(grant_of(ticket));
  const auto flood = [&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket))));
      EXPECT_TRUE(is_quiet(it.notify({{}, store::notification_kind::look, {}})));
      EXPECT_TRUE(is_quiet(it.notify(revocation(ticket))));
    }
  };
  flood();
  EXPECT_EQ(task_of(it.reply(waiting_at(ticket))), task::look) << "one for all of them";
  EXPECT_FALSE(it.reply(waiting_at(ticket)).send);
}

TEST(acquisition, takes_its_grant_in_spite_of_a_flood_of_forged_ends) {
  stepper it;
  it.queue(waiting_at(ticket));
  auto s = it.notify(grant_of(ticket));
  int looks = 0;
  while (task_of(s) == task::look && looks < 10) {
    ++looks;
    it.notify(revocation(ticket));
    s = it.reply(granted_at(ticket));
  }
  expect_grant(s, ticket, it.now);
  EXPECT_LE(looks, 3);
}

TEST(acquisition, looks_again_when_its_grant_is_notified_while_it_looks) {
  stepper it;
  it.queue(waiting_at(ticket));
  it.pass(9s);
  it.wake();
  it.pass(20ms);
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket)))) << "the answer may be older";
  ASSERT_EQ(task_of(it.reply(waiting_at(ticket))), task::look);
  expect_grant(it.reply(granted_at(ticket)), ticket, it.now);
}

TEST(acquisition, gives_a_grant_of_which_little_is_left_another_ttl) {
  stepper it;  // of 30 s
  it.start();
  it.pass(15s + 1ms);  // until there was a connection, say
  ASSERT_EQ(task_of(it.reply(granted_at(ticket))), task::look);
  const auto looked = it.now;
  it.pass(20s);
  expect_grant(it.reply(granted_at(ticket)), ticket, looked);
}

TEST(acquisition, learns_from_a_look_that_its_word_was_lost) {
  stepper it;
  it.queue(waiting_at(ticket));
  it.pass(9s);
  it.wake();
  it.pass(20ms);
  expect_grant(it.reply(granted_at(ticket)), ticket, epoch + 9s);
}

TEST(acquisition, may_hear_of_its_grant_before_it_hears_of_its_place) {
  stepper it;
  it.start();
  it.pass(10ms);
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket)))) << "an older claim of this owner's? the reply will tell";
  it.pass(10ms);
  ASSERT_EQ(task_of(it.reply(waiting_at(ticket))), task::look);
  expect_grant(it.reply(granted_at(ticket)), ticket, it.now);
}

TEST(acquisition, takes_no_word_for_a_place_that_it_does_not_have) {
  stepper it;
  it.start();
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket - 1))));
  EXPECT_FALSE(it.reply(waiting_at(ticket)).answer);
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket - 1))));
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket + 1))));
  it.wake();
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket - 1))));
}

TEST(acquisition, looks_every_second_once_it_is_told_that_it_is_the_first) {
  constexpr store::notification first{{}, store::notification_kind::first, {}};
  stepper it;
  it.queue(waiting_at(ticket));
  it.pass(10ms);
  const auto after = it.notify(first);
  ASSERT_TRUE(after.wake_at);
  EXPECT_LE(*after.wake_at, it.now + 1s);
  EXPECT_FALSE(after.send) << "its turn may come before";
  EXPECT_TRUE(is_quiet(it.notify(first))) << "a notification that comes again puts nothing off";
  it.pass(1s);
  EXPECT_EQ(task_of(it.wake()), task::look);
  const auto again = it.reply(waiting_at(ticket));  // from before the notification
  ASSERT_TRUE(again.wake_at);
  EXPECT_LE(*again.wake_at, it.now + 1s);
}

TEST(acquisition, queues_anew_when_its_ticket_has_expired) {
  stepper it;
  it.queue(waiting_at(ticket));
  it.pass(40s);
  it.wake();
  it.pass(10ms);
  const auto s = it.reply(tickets::nothing{});
  EXPECT_EQ(task_of(s), task::acquire);
  EXPECT_FALSE(form_of(*s.send).token);
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket)))) << "the old ticket's";
  it.pass(10ms);
  const auto placed = it.reply(waiting_at(ticket + 5));
  EXPECT_FALSE(placed.answer || placed.send) << "nor is it remembered for the new one";
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket))));
  expect_grant_by_notification(it, ticket + 5);
}

TEST(acquisition, asks_anew_when_what_it_was_granted_has_been_ended_since) {
  stepper it;
  it.start();
  it.notify(revocation(ticket));
  const auto s = it.reply(granted_at(ticket));
  EXPECT_FALSE(s.answer) << "a reply from before the end";
  EXPECT_EQ(task_of(s), task::look);
  EXPECT_EQ(task_of(it.reply(tickets::nothing{})), task::acquire);
  expect_grant(it.reply(granted_at(ticket + 5)), ticket + 5, it.now);
}

TEST(acquisition, takes_a_grant_whose_end_the_store_does_not_confirm) {
  // It was forged, or the store has lost the end of the grant.
  stepper it;
  it.start();
  it.notify(revocation(ticket));
  it.reply(granted_at(ticket));
  expect_grant(it.reply(granted_at(ticket)), ticket, it.now);
}

TEST(acquisition, is_not_moved_by_a_tick_that_comes_while_it_is_asking) {
  stepper it;
  it.start();
  EXPECT_TRUE(is_quiet(it.wake()));
  it.reply(waiting_at(ticket));
  it.wake();
  EXPECT_TRUE(is_quiet(it.wake()));
}

// Cancelled.

TEST(acquisition, withdraws_at_once_while_it_waits) {
  stepper it;
  it.queue(waiting_at(ticket));
  it.pass(1s);
  auto s = it.cancel();
  ASSERT_EQ(task_of(s), task::withdraw);
  EXPECT_EQ(form_of(*s.send).name, "stock");
  EXPECT_EQ(form_of(*s.send).owner, id(1));
  EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket)))) << "too late: the withdrawal gives it back";
  EXPECT_TRUE(is_quiet(it.wake())) << "the tick asked for before";
  s = it.reply(tickets::done{});
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.answer);
}

TEST(acquisition, is_done_with_a_withdrawal_that_finds_nothing) {
  stepper it;
  it.queue(waiting_at(ticket));
  it.cancel();
  EXPECT_TRUE(it.reply(tickets::nothing{}).finished);
}

TEST(acquisition, withdraws_after_the_reply_that_is_under_way) {
  const tickets::reply replies[] = {granted_at(ticket), waiting_at(ticket), tickets::refused{},
                                    tickets::nothing{}};
  for (const tickets::reply& r : replies) {
    stepper it;
    it.start();
    EXPECT_TRUE(is_quiet(it.cancel())) << "the two must not overtake each other";
    EXPECT_TRUE(is_quiet(it.notify(grant_of(ticket))));
    EXPECT_EQ(task_of(it.reply(r)), task::withdraw);
    EXPECT_TRUE(it.reply(tickets::done{}).finished);
    EXPECT_FALSE(it.answered());
  }
}

TEST(acquisition, withdraws_after_the_look_that_is_under_way) {
  stepper it;
  it.queue(waiting_at(ticket));
  it.wake();
  EXPECT_TRUE(is_quiet(it.cancel()));
  EXPECT_EQ(task_of(it.reply(granted_at(ticket))), task::withdraw);
  EXPECT_TRUE(it.reply(tickets::done{}).finished);
}

}  // namespace
}  // namespace holdfast
