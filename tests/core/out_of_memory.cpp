// Claims and leases for which there is no memory: no hold is left that nobody knows of, and each caller is
// answered.

#include <gtest/gtest.h>
#include <new>
#include <optional>

#include "core/managed_leases.hpp"

namespace holdfast {
namespace {

using namespace test;
using tickets::task;

class leases_out_of_memory : public managed_leases {
 protected:
  void expect_nothing_is_left() const {
    EXPECT_EQ(it.link.open(), 0U);
    EXPECT_EQ(it.time.timers(), 0U);
    EXPECT_EQ(it.port.busy(), 0U);
  }
};

TEST_F(leases_out_of_memory, nothing_is_left_of_a_claim_that_could_not_be_sent) {
  it.link.refuses = true;
  EXPECT_THROW(ask(a_wish(), it.time.now() + 1h), std::bad_alloc);
  expect_nothing_is_left();
  it.link.refuses = false;
  EXPECT_NE(hold(), nullptr) << "the same claim can be made again";
  EXPECT_EQ(ends.size(), 1U) << "the caller knows by the exception";
}

TEST_F(leases_out_of_memory, a_claim_without_a_timer_is_not_sent) {
  it.time.refusals = 1;
  EXPECT_THROW(ask(a_wish(), it.time.now() + 1h), std::bad_alloc);
  expect_nothing_is_left();
  it.time.refusals = 1;
  EXPECT_THROW(ask(), std::bad_alloc);
  for (const task each : it.pending_tasks()) EXPECT_EQ(each, task::withdraw);
  while (it.link.open() != 0) it.answer(tickets::nothing{});
  expect_nothing_is_left();
  EXPECT_TRUE(ends.empty());
}

TEST_F(leases_out_of_memory, a_grant_that_cannot_be_kept_is_given_back_and_the_claim_fails) {
  ask();
  it.time.refusals = 1;  // the keeper's
  it.answer(granted_at(7));
  EXPECT_EQ(failure_at_end(), errc::exhausted);
  ASSERT_EQ(it.pending_tasks(), tasks{task::release});
  EXPECT_EQ(it.link.request().token, fencing_token{7});
  it.answer(tickets::done{});
  expect_nothing_is_left();
}

TEST_F(leases_out_of_memory, a_grant_whose_user_cannot_be_answered_is_given_back) {
  it.time.turn([&] { all.acquire(a_wish(), {}, [](const taken&) { throw std::bad_alloc{}; }); });
  it.answer(granted_at(7));
  ASSERT_EQ(it.pending_tasks(), tasks{task::release});
  it.answer(tickets::done{});
  it.time.run_for(1h);
  expect_nothing_is_left();
}

TEST_F(leases_out_of_memory, a_late_grant_that_cannot_be_made_again_fails) {
  ask();
  it.answer(waiting_at(7));
  it.notify(1, grant_of(7));
  it.time.stop_for(31s);
  it.time.refusals = 1;  // of the release
  it.answer(granted_at(7));
  EXPECT_EQ(failure_at_end(), errc::exhausted);
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(leases_out_of_memory, a_grant_in_doubt_that_cannot_be_proven_is_given_back) {
  it.link.session = it.time.now();
  ask();
  it.time.run_for(1s);
  it.time.refusals = 1;  // of the next proof
  it.answer(granted_at(7));
  EXPECT_EQ(failure_at_end(), errc::exhausted);
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(leases_out_of_memory, a_claim_that_cannot_look_fails) {
  ask();
  it.answer(waiting_at(7));
  it.link.refuses = true;
  it.time.run_for(10s);
  EXPECT_EQ(failure_at_end(), errc::unknown_outcome) << "it may have been granted meanwhile";
  expect_nothing_is_left();
}

TEST_F(leases_out_of_memory, a_claim_that_cannot_wait_fails_and_is_withdrawn) {
  ask();
  it.time.refusals = 1;  // of the next look
  it.answer(waiting_at(7));
  EXPECT_EQ(failure_at_end(), errc::exhausted);
  ASSERT_EQ(it.pending_tasks(), tasks{task::withdraw});
  it.answer(tickets::done{});
  expect_nothing_is_left();
}

TEST_F(leases_out_of_memory, other_leases_keep_their_timer) {
  const lease_record_ptr lease = hold();
  lease_core::wish shorter = a_wish(2);
  shorter.claim.ttl = 6s;
  ask(shorter);
  it.time.refusals = 1;
  it.answer(granted_at(8));
  ASSERT_EQ(failure_at_end(), errc::exhausted);
  it.answer(tickets::done{});
  it.time.run_for(10s);
  EXPECT_EQ(it.pending_tasks(), tasks{task::renew});
  EXPECT_EQ(lease->state(), phase::held);
}

TEST_F(leases_out_of_memory, a_loss_that_cannot_be_told_ends_no_other_lease) {
  hold();
  const lease_record_ptr other = hold(a_wish(2), 8);
  it.time.run_for(10s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew}) << "of both";
  also_on_loss = [](const lease_record_ptr&) { throw std::bad_alloc{}; };
  EXPECT_THROW(it.answer(tickets::kept{{false, true}}), std::bad_alloc);
  EXPECT_EQ(losses.size(), 1U);
  EXPECT_EQ(other->deadline(), epoch + 40s - margin);
}

TEST_F(leases_out_of_memory, a_renewal_by_hand_is_answered_where_its_loss_cannot_be_told) {
  const lease_record_ptr lease = hold();
  std::optional<renewal> outcome;
  it.time.turn([&] { all.renew(lease, [&](renewal r) { outcome = r; }); });
  also_on_loss = [](const lease_record_ptr&) { throw std::bad_alloc{}; };
  EXPECT_THROW(it.answer(tickets::kept{{false}}), std::bad_alloc);
  EXPECT_EQ(outcome, renewal::lost);
}

TEST_F(leases_out_of_memory, nothing_is_left_of_a_rest_that_could_not_be_sent) {
  lease_core::wish resting = a_wish();
  resting.at_least = 60s;
  resting.claim.mode = mode::shared;
  const lease_record_ptr lease = hold(resting);
  it.link.refuses = true;
  EXPECT_THROW(release(lease), std::bad_alloc);
  EXPECT_EQ(it.port.busy(), 0U) << "closing would wait for it";
}

}  // namespace
}  // namespace holdfast
