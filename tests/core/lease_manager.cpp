// The lease manager: from a wish to a lease.

#include <gtest/gtest.h>

#include "core/managed_leases.hpp"

namespace holdfast {
namespace {

using namespace test;
using tickets::task;

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
  ask(a_wish(), epoch + 2s);
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
  ask(a_wish(), epoch + 2s);
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
  ask(a_wish(), epoch + 2s);
  it.answer(retryable);  // nobody knows whether it is free
  it.time.run_until(epoch + 2s);
  EXPECT_EQ(failure_at_end(), errc::unknown_outcome) << "the next try is under way";
}

TEST_F(managed_leases, says_what_the_store_said_last_of_a_claim_in_the_queue) {
  ask(a_wish(), epoch + 5s);
  it.answer(head_at(7, 10s));
  it.time.run_until(epoch + 5s);  // it looks each second
  EXPECT_EQ(failure_at_end(), errc::unknown_outcome) << "a look has had no answer for more than a second";
  ends.clear();
  ask(a_wish(2), it.time.now() + 500ms);
  it.answer(waiting_at(8), it.link.open() - 1);
  it.notify(2, {{}, store::notification_kind::look, fencing_token{8}});
  it.time.run_for(500ms);
  EXPECT_TRUE(not_had_at_end()) << "a look was sent a moment ago";
}

TEST_F(managed_leases, says_not_had_where_the_store_could_be_asked_in_the_end) {
  ask(a_wish(), epoch + 2s);
  it.answer(retryable);
  it.time.run_for(1s);
  it.answer(waiting_at(7));  // by now somebody does
  it.time.run_for(1s);
  EXPECT_TRUE(not_had_at_end());
}

TEST_F(managed_leases, forgets_the_limit_of_what_is_had) {
  ask(a_wish(), epoch + 2s);
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
  all.cancel(which);
  EXPECT_EQ(failure_at_end(), errc::cancelled);
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
  all.cancel(which);
  all.cancel(which + 1);
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(it.link.open(), 1U);
}

TEST_F(managed_leases, withdraws_in_the_background_until_it_is_confirmed) {
  const auto which = ask();
  it.answer(waiting_at(7));
  all.cancel(which);
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
  all.cancel(which);
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(std::get<lease_record_ptr>(ends[0])->state(), phase::held);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(managed_leases, gives_back_a_grant_that_came_too_late_and_queues_again_but_not_for_ever) {
  auto patient = a_wish();
  patient.claim.retry.limit(60s);
  ask(patient);
  owner_id last;
  for (int late = 1; late <= 3; ++late) {
    EXPECT_NE(it.link.request().owner, last) << "a claim of its own each time";
    last = it.link.request().owner;
    it.answer(waiting_at(static_cast<std::uint64_t>(late)));
    it.notify(last, grant_of(static_cast<std::uint64_t>(late)));
    ASSERT_EQ(it.pending_tasks().back(), task::look);
    it.time.run_for(30s - margin);
    it.answer(granted_at(static_cast<std::uint64_t>(late)));
    ASSERT_EQ(it.pending_tasks(), late < 3 ? (tasks{task::release, task::acquire}) : tasks{task::release});
    EXPECT_EQ(it.link.request().token, fencing_token{static_cast<std::uint64_t>(late)});
    it.answer(tickets::done{});
  }
  EXPECT_EQ(failure_at_end(), errc::lost);
  EXPECT_EQ(it.port.busy(), 0U);
  EXPECT_TRUE(losses.empty()) << "nobody ever had it";
}

// Of a session whose life is in doubt.

class unproven_grants : public managed_leases {
 protected:
  /// Granted after a stall: the session was last known to live until a moment ago.
  void be_granted_in_doubt(const lease_core::wish& wish = a_wish(),
                           std::optional<store::time_point> limit = {}) {
    it.link.session = epoch + 1s;
    ask(wish, limit);
    it.time.run_for(2s);
    it.answer(granted_at(7));
  }
  void prove_session() {
    it.link.session = it.time.now() + 10s;
    it.time.run_for(2s);
  }
};

TEST_F(unproven_grants, waits_for_the_proof_and_keeps_what_was_granted) {
  be_granted_in_doubt();
  it.time.run_for(2s);
  EXPECT_TRUE(ends.empty()) << "the session may well live";
  EXPECT_EQ(it.link.open(), 0U) << "nothing is given back, nothing is asked";
  prove_session();
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew}) << "it may have been a former session's";
  const auto requested = it.time.now();
  it.answer(tickets::kept{{true}});
  ASSERT_EQ(ends.size(), 1U);
  const lease_record_ptr lease = std::get<lease_record_ptr>(ends[0]);
  EXPECT_TRUE(lease->held_at(it.time.now()));
  EXPECT_LE(lease->deadline(), requested + 10s);
}

TEST_F(unproven_grants, count_from_the_request_that_proves_them) {
  be_granted_in_doubt();
  it.link.session = it.time.now() + 1h;
  while (it.link.open() == 0) it.time.run_for(1ms);
  const auto requested = it.time.now();
  it.time.run_for(5s);
  it.answer(tickets::kept{{true}});
  const lease_record_ptr lease = std::get<lease_record_ptr>(ends.at(0));
  EXPECT_LE(lease->deadline(), requested + 30s - margin) << "counted from the answer";
  EXPECT_TRUE(lease->held_at(it.time.now()));
}

TEST_F(unproven_grants, stay_locked_for_their_least_time_from_when_they_are_told) {
  auto least = a_wish();
  least.at_least = 60s;
  be_granted_in_doubt(least);
  prove_session();
  it.answer(tickets::kept{{true}});
  release(std::get<lease_record_ptr>(ends.at(0)));
  ASSERT_EQ(it.pending_tasks(), (tasks{task::annotate, task::renew}));
  EXPECT_EQ(it.link.request(1).batch.at(0).ttl, 60s);
}

TEST_F(unproven_grants, asks_anew_for_what_has_gone_with_a_former_session) {
  be_granted_in_doubt();
  prove_session();
  it.answer(tickets::kept{{false}});
  EXPECT_TRUE(ends.empty());
  ASSERT_EQ(it.pending_tasks(), (tasks{task::release, task::acquire}));
  it.answer(granted_at(9), 1);
  EXPECT_EQ(std::get<lease_record_ptr>(ends.at(0))->hold.token, fencing_token{9});
}

TEST_F(unproven_grants, gives_up_and_gives_back_when_no_proof_comes) {
  auto brief = a_wish();
  brief.claim.retry.limit(3s);
  be_granted_in_doubt(brief);
  it.time.run_for(5s);
  EXPECT_EQ(failure_at_end(), errc::unavailable);
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(unproven_grants, of_a_candidate_are_given_back_and_it_stands_by_again) {
  auto candidate = a_wish();
  candidate.claim.retry.limit(3s);
  candidate.claim.election = true;
  be_granted_in_doubt(candidate);
  it.time.run_for(5s);
  EXPECT_TRUE(ends.empty());
  ASSERT_EQ(it.pending_tasks(), (tasks{task::release, task::acquire}));
  it.answer(permanent, 1);
  EXPECT_TRUE(ends.empty()) << "it has stood by before";
  it.link.session = it.time.now() + 60s;
  it.time.run_for(2s);
  ASSERT_EQ(it.pending_tasks(), (tasks{task::release, task::acquire}));
  it.answer(granted_at(9), 1);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(std::get<lease_record_ptr>(ends[0])->hold.token, fencing_token{9});
}

TEST_F(unproven_grants, waits_no_longer_than_its_limit) {
  be_granted_in_doubt(a_wish(), epoch + 4s);
  it.time.run_for(5s);
  EXPECT_EQ(ended_at, epoch + 4s);
  EXPECT_EQ(failure_at_end(), errc::unavailable) << "nobody else is known to hold it";
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(unproven_grants, gives_back_what_is_cancelled) {
  it.link.session = epoch + 1s;
  const auto which = ask();
  it.time.run_for(2s);
  it.answer(granted_at(7));
  it.time.turn([&] { all.cancel(which); });
  EXPECT_EQ(failure_at_end(), errc::cancelled);
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
  it.time.run_for(5s);
  EXPECT_EQ(ends.size(), 1U);
}

}  // namespace
}  // namespace holdfast
