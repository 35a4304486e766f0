// SPDX-License-Identifier: Apache-2.0
// The acquisition when requests fail: every step fails in every way in turn.

#include <gtest/gtest.h>
#include <vector>

#include "core/retried_claim.hpp"

namespace holdfast {
namespace {

using namespace test;

TEST(acquisition_errors, asks_again_what_was_surely_not_carried_out) {
  stepper it{retried_claim()};
  it.start();
  auto s = it.fail(retryable);
  EXPECT_EQ(s.wake_at, it.now + 10ms);
  EXPECT_FALSE(s.send || s.answer || s.finished);
  it.pass(10ms);
  EXPECT_EQ(task_of(it.wake()), task::acquire);
  s = it.reply(granted_at(ticket));
  ASSERT_TRUE(grant_of(s));
  EXPECT_EQ(grant_of(s)->valid_from, epoch + 10ms) << "the try that was answered";
}

/// A machine that has asked at `epoch`, got no answer, and now looks for what became of it.
stepper finding() {
  stepper it{retried_claim()};
  it.start();
  it.pass(5ms);
  const auto s = it.fail(retryable_maybe_executed);
  EXPECT_EQ(s.wake_at, it.now + 10ms);
  EXPECT_FALSE(s.send) << "asking again might queue twice";
  it.pass(10ms);
  const auto found = it.wake();
  EXPECT_EQ(task_of(found), task::find);
  EXPECT_EQ(form_of(*found.send).name, "stock");
  EXPECT_EQ(form_of(*found.send).owner, id(1));
  it.pass(5ms);
  return it;
}

// Its owner id is known there: asked again it would be the same grant, and nothing may be left behind.
TEST(acquisition_errors, looks_again_for_a_grant_that_must_not_be_believed_yet_and_withdraws_it_in_the_end) {
  const store::request_error unacknowledged{{errc::unavailable, "one replica of two"}, true, false, true};
  stepper it{retried_claim()};
  it.start();
  auto s = it.fail(unacknowledged);
  EXPECT_FALSE(s.answer || s.send);
  it.pass_until(s.wake_at);
  EXPECT_EQ(task_of(it.wake()), task::find);
  s = it.fail(unacknowledged);
  for (int i = 0; i < 1000 && !s.answer; ++i) {
    it.pass_until(s.wake_at);
    EXPECT_EQ(task_of(it.wake()), task::find);
    s = it.fail(unacknowledged);
  }
  ASSERT_TRUE(s.answer);
  EXPECT_EQ(std::get<failure>(*s.answer).code, errc::unavailable) << "it is known not to be held";
  EXPECT_EQ(task_of(s), task::withdraw);
}

TEST(acquisition_errors, does_not_wait_in_a_queue_that_a_try_did_not_ask_for) {
  store::claim c = retried_claim();
  c.wait = false;
  stepper it{c};
  it.start();
  const auto s = it.reply(waiting_at(ticket));
  ASSERT_TRUE(s.answer);
  EXPECT_EQ(std::get<failure>(*s.answer).code, errc::corrupt_store);
  EXPECT_EQ(task_of(s), task::withdraw) << "it may stand there";
}

TEST(acquisition_errors, finds_that_nothing_was_carried_out_and_asks_again) {
  stepper it = finding();
  EXPECT_EQ(task_of(it.reply(tickets::nothing{})), task::acquire);
  const auto requested = it.now;
  it.pass(1ms);
  EXPECT_EQ(grant_of(it.reply(granted_at(ticket)))->valid_from, requested);
}

TEST(acquisition_errors, finds_its_place_and_keeps_it) {
  stepper it = finding();
  const auto found = it.reply(waiting_at(ticket));
  ASSERT_EQ(task_of(found), task::look) << "finding does not keep it";
  EXPECT_EQ(form_of(*found.send).token, fencing_token{ticket});
  const auto looked = it.now;
  const auto s = it.reply(waiting_at(ticket));
  EXPECT_EQ(s.wake_at, tickets::next_look(waiting_at(ticket), looked, 30s, it.now, it.chance));
}

TEST(acquisition_errors, finds_its_grant_and_counts_from_the_look_that_keeps_it) {
  stepper it = finding();
  auto s = it.reply(granted_at(ticket));
  EXPECT_FALSE(s.answer) << "its ttl may have begun with any of its requests";
  ASSERT_EQ(task_of(s), task::look);
  const auto looked = it.now;
  it.pass(5ms);
  s = it.reply(granted_at(ticket));
  ASSERT_TRUE(grant_of(s));
  EXPECT_EQ(grant_of(s)->valid_from, looked);
  EXPECT_TRUE(s.finished);
}

/// The first request is on its way for long, and carried out late, after one has looked for it in vain. The
/// second is lost, too. What is found then has its ttl from the first, whose sending is before that of the
/// second.
TEST(acquisition_errors, believes_no_found_grant_for_longer_than_the_store_keeps_it) {
  stepper it = finding();
  it.reply(tickets::nothing{});
  it.pass(500ms);
  it.fail(retryable_maybe_executed);
  it.wake();
  const auto s = it.reply(granted_at(ticket));
  EXPECT_FALSE(s.answer);
  ASSERT_EQ(task_of(s), task::look);
  const auto looked = it.now;
  EXPECT_EQ(grant_of(it.reply(granted_at(ticket)))->valid_from, looked);
}

TEST(acquisition_errors, goes_on_finding_when_that_fails_too) {
  for (const store::request_error& t : {retryable, retryable_maybe_executed}) {
    stepper it = finding();
    const auto s = it.fail(t);
    EXPECT_EQ(s.wake_at, it.now + 20ms);
    it.pass(20ms);
    EXPECT_EQ(task_of(it.wake()), task::find) << "the question of the first request is still open";
  }
}

TEST(acquisition_errors, looks_again_when_a_look_fails) {
  for (const store::request_error& t : {retryable, retryable_maybe_executed}) {
    stepper it{retried_claim()};
    it.queue(waiting_at(ticket));
    it.pass(500ms);
    it.wake();
    auto s = it.fail(t);
    EXPECT_EQ(s.wake_at, it.now + 10ms);
    EXPECT_FALSE(s.answer || s.send || s.finished);
    it.pass(3ms);
    // Between two tries a notification makes it look at once: there is a connection again.
    stepper notified = it;
    EXPECT_EQ(task_of(notified.notify(grant_of(ticket))), task::look);
    stepper missed = it;
    EXPECT_EQ(task_of(missed.notify({{}, store::notification_kind::look, {}})), task::look);
    it.pass(7ms);
    s = it.wake();
    ASSERT_EQ(task_of(s), task::look);
    EXPECT_EQ(form_of(*s.send).token, fencing_token{ticket});
  }
}

TEST(acquisition_errors, forgives_a_failed_look_however_long_ago_the_last_one_was) {
  stepper it{retried_claim()};
  it.queue(waiting_at(ticket));
  it.pass(9s);  // much longer than the limit of retries: nothing was asked, so nothing was left unanswered
  it.wake();
  const auto s = it.fail(retryable);
  EXPECT_FALSE(s.answer);
  EXPECT_EQ(s.wake_at, it.now + 10ms);
}

TEST(acquisition_errors, begins_anew_with_short_delays_after_an_answer) {
  stepper it{retried_claim()};
  it.start();
  it.fail(retryable);
  it.wake();
  EXPECT_EQ(it.fail(retryable).wake_at, it.now + 20ms);
  it.wake();
  it.reply(waiting_at(ticket));
  it.wake();
  EXPECT_EQ(it.fail(retryable).wake_at, it.now + 10ms);
}

TEST(acquisition_errors, gives_up_when_its_limit_of_silence_is_over) {
  stepper it{retried_claim()};
  it.start();
  const auto moments = request_times_until_it_gives_up(it, it.fail(retryable), retryable);
  EXPECT_TRUE(it.finished()) << "surely not there: nothing to withdraw";
  EXPECT_TRUE(it.answered());
  ASSERT_GE(moments.size(), 4U);
  EXPECT_EQ(moments[0], 10ms);
  EXPECT_EQ(moments[1], 30ms);
  EXPECT_EQ(moments[2], 70ms);
  EXPECT_LE(moments.back(), 1s);
  EXPECT_GT(moments.back(), 1s - 80ms) << "one more try would have had time";
}

TEST(acquisition_errors, gives_up_on_an_answer_that_does_not_come_and_withdraws_after_it) {
  stepper it{retried_claim()};
  auto s = it.start();
  it.pass(500ms);
  EXPECT_TRUE(!it.wake().answer) << "too early";
  it.pass_until(s.wake_at);
  EXPECT_EQ(it.now, epoch + 1s);
  s = it.wake();
  EXPECT_EQ(failure_of(s), errc::unknown_outcome) << "it may be granted yet";
  EXPECT_FALSE(s.send || s.finished) << "the two must not overtake each other";
  s = it.reply(granted_at(ticket));
  ASSERT_EQ(task_of(s), task::withdraw);
  EXPECT_TRUE(it.reply(tickets::done{}).finished);
}

TEST(acquisition_errors, waits_for_the_answer_to_its_last_try_too_and_tells_what_hindered_those_before) {
  store::claim c = retried_claim();
  c.retry.limit(15ms);
  stepper it{c};
  it.start();
  const auto full = store::request_error{{errc::exhausted, "the disk is full"}, true};
  it.pass_until(it.fail(full).wake_at);
  auto s = it.wake();
  ASSERT_EQ(task_of(s), task::acquire);
  EXPECT_EQ(s.wake_at, it.now + 1s);
  it.pass(900ms);
  EXPECT_EQ(failure_of(it.fail(full)), errc::exhausted) << "it is known by now";

  stepper slower{c};
  slower.start();
  slower.pass_until(slower.fail(full).wake_at);
  slower.pass_until(slower.wake().wake_at);
  s = slower.wake();
  EXPECT_EQ(failure_of(s), errc::unknown_outcome);
  EXPECT_NE(std::get<failure>(*s.answer).message.find("the disk is full"), std::string::npos);
}

TEST(acquisition_errors, of_a_try_is_waited_for_no_longer_than_an_answer_may_take) {
  store::claim c = retried_claim();
  c.wait = false;
  stepper it{c};
  it.pass_until(it.start().wake_at);
  EXPECT_EQ(it.now, epoch + 1s);
  EXPECT_EQ(failure_of(it.wake()), errc::unknown_outcome);
  stepper other{c};
  other.start();
  EXPECT_EQ(failure_of(other.fail(retryable)), errc::unavailable) << "a try is not repeated";
}

TEST(acquisition_errors, gives_up_at_once_without_a_limit) {
  store::claim c = a_claim();
  c.retry.limit(0s);
  stepper it{c};
  it.start();
  const auto s = it.fail(retryable);
  EXPECT_EQ(failure_of(s), errc::unavailable);
  EXPECT_TRUE(s.finished);
}

TEST(acquisition_errors, does_not_retry_what_will_not_pass) {
  stepper it{retried_claim()};
  it.start();
  auto s = it.fail(permanent);
  EXPECT_EQ(failure_of(s), errc::unavailable);
  EXPECT_TRUE(s.finished) << "surely not there";

  stepper doubtful{retried_claim()};
  doubtful.start();
  s = doubtful.fail(permanent_maybe_executed);
  EXPECT_EQ(failure_of(s), errc::unknown_outcome);
  EXPECT_EQ(task_of(s), task::withdraw) << "it may stand there";
  EXPECT_TRUE(doubtful.reply(tickets::done{}).finished);

  stepper queued{retried_claim()};
  queued.queue(waiting_at(ticket));
  queued.wake();
  s = queued.fail(permanent);
  EXPECT_EQ(failure_of(s), errc::unknown_outcome) << "its ticket stands there, and may be granted";
  EXPECT_EQ(task_of(s), task::withdraw);
}

TEST(acquisition_errors, remembers_a_try_that_was_not_there_yet) {
  stepper cancelled = finding();
  cancelled.reply(tickets::nothing{});  // asks again
  cancelled.fail(retryable);            // surely not carried out
  EXPECT_EQ(task_of(cancelled.cancel()), task::withdraw)
      << "the first request may be carried out after the look for it";
  EXPECT_TRUE(cancelled.reply(tickets::nothing{}).finished);

  stepper failed = finding();
  failed.reply(tickets::nothing{});
  const auto s = failed.fail(permanent);
  EXPECT_EQ(failure_of(s), errc::unknown_outcome);
  EXPECT_EQ(task_of(s), task::withdraw);
}

}  // namespace
}  // namespace holdfast
