// SPDX-License-Identifier: Apache-2.0
// What the acquisition withdraws when it is given up, and for how long it tries.

#include <gtest/gtest.h>
#include <vector>

#include "core/retried_claim.hpp"

namespace holdfast {
namespace {

using namespace test;

TEST(acquisition_errors, withdraws_what_it_gave_up_finding) {
  stepper it{retried_claim()};
  it.start();
  auto s = it.fail(retryable_maybe_executed);
  while (!it.answered()) {
    it.pass_until(s.wake_at);
    EXPECT_EQ(task_of(it.wake()), task::find);
    s = it.fail(retryable);
  }
  EXPECT_EQ(failure_of(s), errc::unknown_outcome) << "unknown is not reported as failed";
  EXPECT_EQ(task_of(s), task::withdraw);
}

TEST(acquisition_errors, has_nothing_to_withdraw_after_a_try_that_was_surely_not_carried_out) {
  stepper it{retried_claim()};
  it.start();
  it.fail(retryable);
  const auto s = it.cancel();
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.send || s.answer);
}

TEST(acquisition_errors, withdraws_what_is_in_doubt) {
  stepper it{retried_claim()};
  it.start();
  it.fail(retryable_maybe_executed);
  EXPECT_EQ(task_of(it.cancel()), task::withdraw);
  EXPECT_TRUE(it.reply(tickets::nothing{}).finished);
}

TEST(acquisition_errors, withdraws_whatever_became_of_the_request_under_way) {
  for (const store::request_error& t :
       {retryable, retryable_maybe_executed, permanent, permanent_maybe_executed}) {
    stepper it{retried_claim()};
    it.start();
    EXPECT_TRUE(is_quiet(it.cancel()));
    EXPECT_EQ(task_of(it.fail(t)), task::withdraw);
    EXPECT_TRUE(it.reply(tickets::done{}).finished);
  }
}

TEST(acquisition_errors, withdraws_until_the_store_confirms) {
  stepper it{retried_claim()};
  it.queue(waiting_at(ticket));
  it.pass(1s);
  it.cancel();
  auto s = it.fail(retryable_maybe_executed);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(s.finished);
    it.pass_until(s.wake_at);
    EXPECT_EQ(task_of(it.wake()), task::withdraw);
    s = it.fail(retryable);
  }
  it.pass_until(s.wake_at);
  it.wake();
  s = it.reply(tickets::nothing{});
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.answer);
}

TEST(acquisition_errors, withdraws_no_longer_than_its_claim_can_live) {
  stepper it{retried_claim()};
  it.queue(waiting_at(ticket));
  it.pass(9s);
  it.wake();
  it.reply(waiting_at(ticket));  // kept at 9 s, for 30 s, and if it is served then, for 30 more
  it.cancel();
  const auto moments = request_times_until_it_gives_up(it, it.fail(retryable), retryable);
  EXPECT_TRUE(it.finished());
  EXPECT_LE(moments.back(), 69s);
  EXPECT_GT(moments.back(), 69s - 80ms);
}

TEST(acquisition_errors, withdraws_what_was_asked_long_before_its_process_was_paused) {
  stepper it{retried_claim()};
  it.start();
  it.pass(
      120s);  // of a ttl of 30 s; the connection has broken meanwhile, and the request was still carried out
  it.cancel();
  EXPECT_EQ(task_of(it.fail(retryable_maybe_executed)), task::withdraw);
  const auto s = it.fail(retryable);  // there is no connection yet
  EXPECT_FALSE(s.finished);
  it.pass_until(s.wake_at);
  EXPECT_EQ(task_of(it.wake()), task::withdraw);
  EXPECT_TRUE(it.reply(tickets::done{}).finished);
}

TEST(acquisition_errors, withdraws_what_the_store_refuses_to_withdraw_until_its_claim_is_dead) {
  // The name's key is of a wrong type. When it has gone, the claim would be granted to nobody.
  stepper it{retried_claim()};
  it.queue(waiting_at(ticket));
  it.wake();
  auto s = it.fail(permanent);
  EXPECT_EQ(failure_of(s), errc::unknown_outcome);
  ASSERT_EQ(task_of(s), task::withdraw);
  s = it.fail(permanent);
  EXPECT_FALSE(s.finished);
  EXPECT_TRUE(s.in_vain) << "nobody waits for it";
  it.pass_until(s.wake_at);
  ASSERT_EQ(task_of(it.wake()), task::withdraw);
  EXPECT_TRUE(it.reply(tickets::done{}).finished);

  stepper in_vain{retried_claim()};
  in_vain.queue(waiting_at(ticket));
  in_vain.cancel();
  const auto moments = request_times_until_it_gives_up(in_vain, in_vain.fail(permanent), permanent);
  EXPECT_TRUE(in_vain.finished());
  EXPECT_LE(moments.back(), 60s);
}

TEST(acquisition_errors, withdraws_nothing_once_its_client_is_closed) {
  stepper it{retried_claim()};
  it.queue(waiting_at(ticket));
  it.cancel();
  EXPECT_TRUE(it.fail({{errc::closed, "the client was closed"}, false, true}).finished);
}

// The first request was carried out late, after the store had said that there is no claim.
TEST(acquisition_errors, withdraws_as_many_claims_as_it_may_have_made) {
  for (const bool second_is_there : {true, false}) {
    stepper it{retried_claim()};
    it.start();
    it.pass_until(it.fail(retryable_maybe_executed).wake_at);
    ASSERT_EQ(task_of(it.wake()), task::find);
    ASSERT_EQ(task_of(it.reply(tickets::nothing{})), task::acquire);
    it.reply(waiting_at(ticket));
    ASSERT_EQ(task_of(it.cancel()), task::withdraw);
    if (second_is_there) {
      const auto s = it.reply(tickets::done{});
      EXPECT_FALSE(s.finished);
      ASSERT_EQ(task_of(s), task::withdraw);
      EXPECT_TRUE(it.reply(tickets::done{}).finished) << "there are no more";
    } else {
      EXPECT_TRUE(it.reply(tickets::nothing{}).finished);
    }
  }
}

}  // namespace
}  // namespace holdfast
