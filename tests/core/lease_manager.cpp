// SPDX-License-Identifier: Apache-2.0
// The lease manager: from a claim to a lease.

#include <gtest/gtest.h>

#include "core/managed_leases.hpp"

namespace holdfast {
namespace {

using namespace test;

TEST_F(managed_leases, makes_a_lease_of_a_grant) {
  ask();
  it.time.run_for(40ms);
  it.answer(granted_at(7));
  ASSERT_EQ(ends.size(), 1U);
  const lease_record_ptr lease = std::get<lease_record_ptr>(ends[0]);
  EXPECT_EQ(lease->hold.name, "stock");
  EXPECT_EQ(lease->hold.owner, id(1));
  EXPECT_EQ(lease->hold.token, fencing_token{7});
  EXPECT_EQ(lease->hold.ttl, 30s);
  EXPECT_EQ(lease->mode(), mode::exclusive);
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  EXPECT_TRUE(lease->held_at(it.time.now()));
  it.time.run_until(epoch + 10s);
  EXPECT_EQ(it.pending_tasks(), tasks{task::renew});
}

TEST_F(managed_leases, says_not_had_or_what_failed) {
  ask();
  it.answer(tickets::refused{});
  EXPECT_TRUE(not_had_at_end());
  ask();
  it.answer(tickets::other_capacity{4});
  EXPECT_EQ(failure_at_end(), errc::wrong_type);
  ask();
  it.answer(permanent);
  EXPECT_EQ(failure_at_end(), errc::unavailable);
  EXPECT_EQ(ends.size(), 3U);
  EXPECT_EQ(it.port.busy(), 0U);
}

TEST_F(managed_leases, waits_no_longer_than_its_limit) {
  ask(a_claim(), epoch + 2s);
  it.answer(waiting_at(7));
  it.time.run_until(epoch + 2s - 1ns);
  EXPECT_TRUE(ends.empty());
  it.time.run_for(1ns);
  EXPECT_TRUE(not_had_at_end());
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw}) << "the ticket does not stay";
  it.notify(1, grant_of(7));
  it.answer(tickets::done{});
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(it.port.busy(), 0U);
}

TEST_F(managed_leases, does_not_wait_for_a_silent_store_longer_than_its_limit) {
  ask(a_claim(), epoch + 2s);
  it.time.run_for(1h);
  EXPECT_EQ(failure_at_end(), errc::unknown_outcome) << "nobody knows whether others hold it";
  EXPECT_EQ(ended_at, epoch + 2s);
  // The answer comes in the end, and it is a grant: nobody is there to have it.
  it.answer(granted_at(7));
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
  EXPECT_EQ(ends.size(), 1U);
  it.answer(tickets::done{});
  EXPECT_EQ(it.port.busy(), 0U);
}

TEST_F(managed_leases, does_not_say_not_had_where_the_store_could_not_be_asked) {
  ask(a_claim(), epoch + 2s);
  it.answer(retryable);  // nobody knows whether it is free
  it.time.run_until(epoch + 2s);
  EXPECT_EQ(failure_at_end(), errc::unknown_outcome) << "the next try is under way";
}

TEST_F(managed_leases, says_what_the_store_said_last_of_a_claim_in_the_queue) {
  ask(a_claim(), epoch + 5s);
  it.answer(head_at(7, 10s));
  it.time.run_until(epoch + 5s);  // it looks each second
  EXPECT_EQ(failure_at_end(), errc::unknown_outcome) << "a look has had no answer for more than a second";
  ends.clear();
  ask(a_claim(2), it.time.now() + 500ms);
  it.answer(waiting_at(8), it.link.open() - 1);
  it.notify(2, {{}, store::notification_kind::look, fencing_token{8}});
  it.time.run_for(500ms);
  EXPECT_TRUE(not_had_at_end()) << "a look was sent a moment ago";
}

TEST_F(managed_leases, says_not_had_where_the_store_could_be_asked_in_the_end) {
  ask(a_claim(), epoch + 2s);
  it.answer(retryable);
  it.time.run_for(1s);
  it.answer(waiting_at(7));  // by now somebody does
  it.time.run_for(1s);
  EXPECT_TRUE(not_had_at_end());
}

TEST_F(managed_leases, forgets_the_limit_of_what_is_had) {
  ask(a_claim(), epoch + 2s);
  it.answer(waiting_at(7));
  it.time.run_for(1s);
  it.notify(1, grant_of(7));
  it.answer(granted_at(7));
  ASSERT_TRUE(std::holds_alternative<lease_record_ptr>(ends.back()));
  it.time.run_for(2s);
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(managed_leases, cancels) {
  const auto which = ask();
  it.answer(waiting_at(7));
  cancel(which);
  EXPECT_EQ(failure_at_end(), errc::cancelled);
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
  cancel(which);
  cancel(which + 1);
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(it.link.open(), 1U);
}

TEST_F(managed_leases, withdraws_in_the_background_until_it_is_confirmed) {
  const auto which = ask();
  it.answer(waiting_at(7));
  cancel(which);
  for (int i = 0; i < 10; ++i) {
    it.answer(retryable_maybe_executed);
    it.time.run_for(1s);
    ASSERT_EQ(it.pending_tasks(), tasks{task::withdraw});
  }
  bool idle = false;
  it.port.when_idle([&] { idle = true; });
  EXPECT_FALSE(idle);
  it.answer(tickets::nothing{});
  EXPECT_TRUE(idle);
}

TEST_F(managed_leases, does_not_cancel_what_is_had) {
  const auto which = ask();
  it.answer(granted_at(7));
  cancel(which);
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(std::get<lease_record_ptr>(ends[0])->state(), phase::held);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(managed_leases, looks_again_at_a_grant_that_came_too_late_but_not_for_ever) {
  auto patient = a_claim();
  patient.retry.limit(60s);
  ask(patient);
  it.answer(waiting_at(7));
  it.notify(1, grant_of(7));
  for (int late = 1; late <= 3; ++late) {
    ASSERT_EQ(it.pending_tasks(), tasks{task::look});
    it.time.run_for(30s - margin);
    it.answer(granted_at(7));
  }
  ASSERT_EQ(it.pending_tasks(), tasks{task::look});
  it.time.run_for(30s - margin);
  it.answer(granted_at(7));
  EXPECT_EQ(failure_at_end(), errc::lost);
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
  it.answer(tickets::done{});
  EXPECT_EQ(it.port.busy(), 0U);
  EXPECT_TRUE(losses.empty()) << "nobody ever had it";
}

TEST_F(managed_leases, queues_again_if_a_grant_that_came_too_late_has_gone) {
  auto patient = a_claim();
  patient.retry.limit(60s);
  ask(patient);
  it.answer(waiting_at(7));
  it.notify(1, grant_of(7));
  it.time.run_for(30s - margin);
  it.answer(granted_at(7));
  it.answer(tickets::nothing{});
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  it.answer(granted_at(9));
  EXPECT_EQ(std::get<lease_record_ptr>(ends.at(0))->hold.token, fencing_token{9});
}

// Of a session whose life is in doubt.

class unproven_grants : public managed_leases {
 protected:
  /// Granted after a stall: the session was last known to live until a moment ago.
  void be_granted_in_doubt(const store::claim& wanted = a_claim(),
                           std::optional<store::time_point> limit = {}) {
    it.link.session = epoch + 1s;
    ask(wanted, limit);
    it.time.run_for(2s);
    it.answer(granted_at(7));
  }
  void prove_session() { it.link.session = it.time.now() + 10s; }
  /// Lets the claim look at its place.
  void look() {
    it.time.run_for(1s);
    ASSERT_EQ(it.pending_tasks(), tasks{task::look});
    it.answer(granted_at(7));
  }
};

TEST_F(unproven_grants, look_until_the_session_is_proven_and_keep_what_was_granted) {
  be_granted_in_doubt();
  for (int looks = 0; looks < 3; ++looks) {
    look();
    EXPECT_TRUE(ends.empty()) << "the session may well live";
    EXPECT_EQ(it.link.open(), 0U) << "nothing is given back";
  }
  prove_session();
  const auto looked = it.time.now();
  look();
  ASSERT_EQ(ends.size(), 1U);
  const lease_record_ptr lease = std::get<lease_record_ptr>(ends[0]);
  EXPECT_TRUE(lease->held_at(it.time.now()));
  EXPECT_LE(lease->deadline(), *it.link.session);
  EXPECT_GE(lease->deadline(), looked);
}

TEST_F(unproven_grants, ask_again_for_what_has_gone_with_a_former_session) {
  be_granted_in_doubt();
  prove_session();
  it.time.run_for(1s);
  it.answer(tickets::nothing{});
  EXPECT_TRUE(ends.empty());
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  it.answer(granted_at(9));
  EXPECT_EQ(std::get<lease_record_ptr>(ends.at(0))->hold.token, fencing_token{9});
}

TEST_F(unproven_grants, are_given_back_when_no_proof_comes) {
  auto brief = a_claim();
  brief.retry.limit(3s);
  be_granted_in_doubt(brief);
  while (ends.empty()) look();
  EXPECT_LE(it.time.now(), epoch + 6s);
  EXPECT_EQ(failure_at_end(), errc::unavailable);
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
}

TEST_F(unproven_grants, of_a_try_have_a_second) {
  auto attempt = a_claim();
  attempt.wait = false;
  be_granted_in_doubt(attempt);
  EXPECT_TRUE(ends.empty());
  prove_session();
  look();
  EXPECT_TRUE(std::holds_alternative<lease_record_ptr>(ends.at(0)));
}

TEST_F(unproven_grants, of_a_try_have_their_second_also_without_a_connection) {
  auto attempt = a_claim();
  attempt.wait = false;
  be_granted_in_doubt(attempt);
  while (it.link.open() == 0) it.time.run_until(it.time.next_timer());
  it.answer(retryable);
  EXPECT_TRUE(ends.empty());
  prove_session();
  while (it.link.open() == 0) it.time.run_until(it.time.next_timer());
  it.answer(granted_at(7));
  EXPECT_TRUE(std::holds_alternative<lease_record_ptr>(ends.at(0)));
}

TEST_F(unproven_grants, of_a_candidate_are_looked_at_for_ever) {
  auto candidate = a_claim();
  candidate.retry.limit(3s);
  candidate.election = true;
  be_granted_in_doubt(candidate);
  for (int looks = 0; looks < 10; ++looks) look();
  EXPECT_TRUE(ends.empty());
  prove_session();
  look();
  EXPECT_TRUE(std::holds_alternative<lease_record_ptr>(ends.at(0)));
}

TEST_F(unproven_grants, wait_no_longer_than_their_limit) {
  be_granted_in_doubt(a_claim(), epoch + 4s);
  while (ends.empty()) look();
  EXPECT_EQ(ended_at, epoch + 4s);
  EXPECT_EQ(failure_at_end(), errc::unavailable) << "nobody else is known to hold it";
}

TEST_F(unproven_grants, are_given_back_when_they_are_cancelled) {
  it.link.session = epoch + 1s;
  const auto which = ask();
  it.time.run_for(2s);
  it.answer(granted_at(7));
  cancel(which);
  EXPECT_EQ(failure_at_end(), errc::cancelled);
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
  it.time.run_for(5s);
  EXPECT_EQ(ends.size(), 1U);
}

}  // namespace
}  // namespace holdfast
