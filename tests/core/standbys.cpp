// SPDX-License-Identifier: Apache-2.0
// A candidate that stands by in an election: which errors end its wait.

#include <gtest/gtest.h>

#include "core/retried_claim.hpp"

namespace holdfast {
namespace {

using namespace test;

store::claim candidate_claim() {
  auto c = retried_claim();
  c.election = true;
  return c;
}

store::request_error refusal(errc code) { return {{code, "not now"}, false, false}; }

class standbys : public testing::TestWithParam<errc> {};

TEST_P(standbys, stay_after_an_error_that_may_pass) {
  stepper it{candidate_claim()};
  EXPECT_TRUE(it.queue(waiting_at(ticket)).wake_at);
  it.pass(10s);
  EXPECT_EQ(task_of(it.wake()), task::look);
  for (int tries = 0; tries < 100; ++tries) {
    const auto s = it.fail(refusal(GetParam()));
    ASSERT_FALSE(s.answer || s.send || s.finished) << tries;
    ASSERT_TRUE(s.wake_at);
    it.pass_until(s.wake_at);
    ASSERT_EQ(task_of(it.wake()), task::look);
  }
  EXPECT_TRUE(it.last_error());
  // Its place is gone by then: it comes anew, and even now an error does not end it.
  EXPECT_EQ(task_of(it.reply(tickets::nothing{})), task::acquire);
  const auto s = it.fail(refusal(GetParam()));
  EXPECT_FALSE(s.answer || s.finished);
  it.pass_until(s.wake_at);
  EXPECT_EQ(task_of(it.wake()), task::acquire);
  EXPECT_TRUE(grant_of(it.reply(granted_at(ticket + 1))));
}

TEST_P(standbys, that_never_had_a_place_hear_of_the_error) {
  stepper it{candidate_claim()};
  it.start();
  const auto s = it.fail(refusal(GetParam()));
  ASSERT_TRUE(s.answer);
  EXPECT_EQ(std::get<failure>(*s.answer).code, GetParam());
}

// A try has no limit that would end it.
TEST_P(standbys, are_candidates_that_wait_and_no_tries) {
  auto attempt = candidate_claim();
  attempt.wait = false;
  stepper it{attempt};
  it.start();
  it.pass(20s);
  ASSERT_EQ(task_of(it.reply(granted_at(ticket))), task::look) << "the grant arrived late";
  EXPECT_TRUE(it.fail(refusal(GetParam())).answer);
}

TEST_P(standbys, are_candidates_and_no_mutexes) {
  stepper it{retried_claim()};
  it.queue(waiting_at(ticket));
  it.pass(10s);
  it.wake();
  EXPECT_TRUE(it.fail(refusal(GetParam())).answer);
}

INSTANTIATE_TEST_SUITE_P(passing, standbys,
                         testing::Values(errc::unavailable, errc::exhausted, errc::permission_denied));

TEST(standby, ends_with_an_error_that_does_not_pass) {
  for (const errc code : {errc::closed, errc::wrong_type, errc::corrupt_store, errc::foreign_store}) {
    stepper it{candidate_claim()};
    it.queue(waiting_at(ticket));
    it.pass(10s);
    it.wake();
    const auto s = it.fail(refusal(code));
    ASSERT_TRUE(s.answer);
    // It is in the queue, and may be elected before it is withdrawn; a client that is closed waits for that.
    EXPECT_EQ(std::get<failure>(*s.answer).code, code == errc::closed ? code : errc::unknown_outcome);
  }
}

TEST(standby, waits_out_a_silence_and_can_be_cancelled) {
  stepper it{candidate_claim()};
  it.queue(waiting_at(ticket));
  it.pass(10s);
  it.wake();
  it.pass(1h);
  EXPECT_FALSE(it.wake().answer) << "the link ends the request";
  EXPECT_FALSE(it.fail(retryable_maybe_executed).answer);
  EXPECT_EQ(task_of(it.cancel()), task::withdraw);
}

}  // namespace
}  // namespace holdfast
