// SPDX-License-Identifier: Apache-2.0
// The lease manager: a lease that is held, and how it ends.

#include <gtest/gtest.h>
#include <set>

#include "core/managed_leases.hpp"

namespace holdfast {
namespace {

using namespace test;

TEST_F(managed_leases, releases) {
  const lease_record_ptr lease = hold();
  release(lease);
  EXPECT_EQ(lease->state(), phase::releasing);
  EXPECT_FALSE(lease->held_at(it.time.now())) << "not for an instant longer";
  ASSERT_EQ(it.pending_tasks(), tasks{task::release});
  EXPECT_EQ(form_of(it.link.request()).name, "stock");
  EXPECT_EQ(form_of(it.link.request()).owner, id(1));
  EXPECT_EQ(form_of(it.link.request()).token, fencing_token{7});
  EXPECT_TRUE(released.empty());
  it.answer(tickets::done{});
  EXPECT_EQ(released, std::vector{std::error_code{}});
  it.time.run_for(1h);
  EXPECT_EQ(it.link.open(), 0U) << "nothing is kept after its release";
  EXPECT_TRUE(losses.empty()) << "a release is no loss";
}

TEST_F(managed_leases, reports_what_became_of_a_release) {
  release(hold());
  it.answer(tickets::nothing{});
  EXPECT_EQ(released.back(), errc::lost);

  release(hold());
  it.answer(retryable_maybe_executed);
  it.time.run_for(5ms);
  it.answer(tickets::nothing{});
  EXPECT_EQ(released.back(), std::error_code{}) << "gone, by the try that was not answered";

  release(hold());
  it.answer(retryable);
  it.time.run_for(5ms);
  it.answer(tickets::nothing{});
  EXPECT_EQ(released.back(), errc::lost) << "gone, and not by us";
}

TEST_F(managed_leases, tries_to_release_until_the_ttl_has_surely_ended_the_hold) {
  const lease_record_ptr lease = hold();
  it.time.run_for(3s);
  release(lease);
  while (released.empty()) {
    ASSERT_EQ(it.pending_tasks(), tasks{task::release});
    it.answer(retryable_maybe_executed);
    while (released.empty() && it.link.open() == 0) it.time.run_until(it.time.next_timer());
  }
  EXPECT_EQ(released.back(), errc::unknown_outcome);
  EXPECT_LE(it.time.now(), lease->deadline() + 30s);
  EXPECT_GT(it.time.now(), lease->deadline() + 29s - 1ms);
}

TEST_F(managed_leases, releases_once) {
  const lease_record_ptr lease = hold();
  release(lease);
  release(lease);
  EXPECT_EQ(released, std::vector{make_error_code(errc::not_owner)});
  EXPECT_EQ(it.link.open(), 1U);
}

TEST_F(managed_leases, does_not_release_what_was_lost) {
  const lease_record_ptr lease = hold();
  it.time.run_until(lease->deadline());
  ASSERT_EQ(losses.size(), 1U);
  release(lease);
  EXPECT_EQ(released, std::vector{make_error_code(errc::lost)});
}

TEST_F(managed_leases, declares_a_loss_to_those_who_come_before_the_timer) {
  const lease_record_ptr lease = hold();
  it.time.stop_for(30s);
  release(lease);
  EXPECT_EQ(released, std::vector{make_error_code(errc::lost)});
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(lease->reason, errc::lost);
  EXPECT_EQ(lease->loss, loss_reason::not_renewed);
  it.time.run_for(0s);
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(managed_leases, checks_by_the_clock) {
  const lease_record_ptr lease = hold();
  it.time.stop_for(30s - margin - 1ns);
  all.check(lease);
  EXPECT_TRUE(losses.empty());
  it.time.stop_for(1ns);
  all.check(lease);
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(managed_leases, gives_back_what_it_lost) {
  const lease_record_ptr lease = hold();
  it.time.run_until(lease->deadline());  // the renewal got no answer, and may yet be carried out
  EXPECT_EQ(lease->state(), phase::lost);
  EXPECT_EQ(lease->reason, errc::lost);
  EXPECT_EQ(it.pending_tasks(), (tasks{task::renew, task::release}));
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->state(), phase::lost);
  it.answer(tickets::done{});
  EXPECT_EQ(it.port.busy(), 0U);
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(managed_leases, asks_at_once_when_it_is_notified_that_a_lease_was_ended) {
  const lease_record_ptr lease = hold();
  it.notify(9, revocation());
  it.notify(1, grant_of(7));
  it.notify(1, revocation(6));
  EXPECT_EQ(it.link.open(), 0U) << "somebody else's, an echo, an earlier hold's";
  it.notify(1, revocation());
  EXPECT_TRUE(losses.empty()) << "anybody may have sent it";
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  it.answer(tickets::kept{{false}});
  EXPECT_EQ(losses, std::vector{lease});
  EXPECT_EQ(lease->reason, errc::lost);
  it.notify(1, revocation());
  EXPECT_EQ(losses.size(), 1U);
}

// Its end by force may have been among them.
TEST_F(managed_leases, confirms_what_a_notification_has_granted_once_others_may_be_lost) {
  ask();
  tickets::place at = waiting_at(7);
  at.position = {3, 1};
  store::notification granted = grant_of(7);
  granted.proof = std::get<tickets::acquire>(it.link.request()).proof;
  granted.position = {3, 2};
  it.answer(at);
  it.notify(1, granted);
  ASSERT_EQ(ends.size(), 1U);
  const auto lease = std::get<lease_record_ptr>(ends.back());
  hold(a_claim(2), 8);  // by an answer
  const auto lose_notifications = [&] {
    it.time.turn([&] { it.link.lose_notifications(); });
    it.time.run_for(0ms);
  };

  lose_notifications();
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  const auto& holds = std::get<tickets::renew>(it.link.request()).holds;
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].owner, id(1));
  it.answer(tickets::kept{{true}});
  lose_notifications();
  EXPECT_EQ(it.link.open(), 0U) << "it is confirmed";
  EXPECT_TRUE(lease->held_at(it.time.now()));
}

TEST_F(managed_leases, loses_no_lease_to_a_forged_notification_and_asks_once_at_a_time) {
  const lease_record_ptr lease = hold();
  it.time.run_for(1s);
  for (int forged = 0; forged < 100; ++forged) it.notify(1, revocation());
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  it.answer(tickets::kept{{true}});
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew}) << "one more, for those that came meanwhile";
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(it.link.open(), 0U);
  EXPECT_TRUE(losses.empty());
  EXPECT_EQ(lease->deadline(), epoch + 31s - margin);
}

TEST_F(managed_leases, does_not_prolong_a_fixed_lease_because_of_a_notification) {
  store::claim fixed = a_claim();
  fixed.renews = false;
  const lease_record_ptr lease = hold(fixed);
  it.time.run_for(1s);
  it.notify(1, revocation());
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  it.notify(1, revocation());
  it.answer(retryable_maybe_executed);
  it.time.run_for(1s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew}) << "the question is still open";
  it.answer(tickets::kept{{false}});
  EXPECT_EQ(losses, std::vector{lease});
}

TEST_F(managed_leases, hears_no_revocation_of_what_it_has_released) {
  const lease_record_ptr lease = hold();
  release(lease);
  it.notify(1, revocation());
  EXPECT_TRUE(losses.empty());
  EXPECT_EQ(lease->state(), phase::releasing);
}

TEST_F(managed_leases, ends_everything_when_it_is_closed) {
  const lease_record_ptr lease = hold(a_claim(1));
  const lease_record_ptr other = hold(a_claim(2));
  ask(a_claim(3));
  it.answer(waiting_at(9));
  ask(a_claim(4));  // its first reply is still to come
  close();
  ASSERT_EQ(ends.size(), 4U);
  for (int i : {2, 3}) EXPECT_EQ(std::get<failure>(ends[i]).code, errc::closed);
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(lease->reason, errc::closed);
  EXPECT_EQ(lease->loss, loss_reason::client_closed);
  EXPECT_EQ(other->reason, errc::closed);
  // What is given back: the ticket, both holds, and what the reply may still bring.
  bool idle = false;
  it.port.when_idle([&] { idle = true; });
  ASSERT_EQ(it.link.open(), 4U);
  it.answer(granted_at(10), 0);  // the claim's; the others follow in the order of their requests
  std::multiset<task> rest;
  while (it.link.open() > 0) {
    rest.insert(task_of(it.link.request()));
    it.answer(tickets::done{});
  }
  EXPECT_EQ(rest, (std::multiset<task>{task::withdraw, task::withdraw, task::release, task::release}));
  EXPECT_TRUE(idle);
  close();
  EXPECT_EQ(ends.size(), 4U);
  it.time.run_for(1h);
  EXPECT_EQ(it.link.open(), 0U);
}

// While it is held.

TEST_F(managed_leases, renews_by_hand) {
  const lease_record_ptr lease = hold();
  std::vector<renewal> renewals;
  const auto note = [&](renewal outcome) { renewals.push_back(outcome); };
  it.time.run_for(2s);
  all.renew(lease, note);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->deadline(), epoch + 32s - margin);
  all.renew(lease, note);
  it.answer(tickets::kept{{false}});
  EXPECT_EQ(losses.size(), 1U);
  const auto sent = it.link.sent();
  all.renew(lease, note);
  EXPECT_EQ(renewals, (std::vector{renewal::renewed, renewal::lost, renewal::lost}));
  EXPECT_EQ(it.link.sent(), sent) << "the lost is not asked for";
}

class downgrading : public managed_leases {
 protected:
  void downgrade(const lease_record_ptr& lease) {
    it.time.turn([&] {
      all.downgrade(lease, [this](std::optional<failure> failed) {
        results.push_back(failed ? failed->code : std::error_code{});
      });
    });
  }
  std::vector<std::error_code> results;
};

TEST_F(downgrading, makes_a_reader_of_a_writer) {
  const lease_record_ptr lease = hold();
  downgrade(lease);
  ASSERT_EQ(it.pending_tasks(), tasks{task::downgrade});
  EXPECT_EQ(form_of(it.link.request()).token, fencing_token{7});
  EXPECT_EQ(lease->mode(), mode::exclusive);
  it.answer(tickets::done{});
  EXPECT_EQ(lease->mode(), mode::shared);
  EXPECT_EQ(lease->hold.token, fencing_token{7}) << "the token stays";
  downgrade(lease);
  EXPECT_EQ(results, std::vector<std::error_code>(2)) << "a reader is one already";
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(downgrading, finds_out_that_the_lease_was_lost) {
  const lease_record_ptr lease = hold();
  downgrade(lease);
  it.answer(tickets::nothing{});
  EXPECT_EQ(results, std::vector{make_error_code(errc::lost)});
  EXPECT_EQ(losses, std::vector{lease});
  downgrade(lease);
  EXPECT_EQ(results.back(), errc::lost);
}

TEST_F(downgrading, leaves_a_writer_where_the_store_surely_did_nothing) {
  const lease_record_ptr lease = hold();
  downgrade(lease);
  it.answer(permanent);
  EXPECT_EQ(results, std::vector{make_error_code(errc::unavailable)});
  EXPECT_EQ(lease->mode(), mode::exclusive);
  EXPECT_EQ(lease->state(), phase::held);
}

TEST_F(downgrading, is_tried_again_until_it_is_answered) {
  const lease_record_ptr lease = hold();
  downgrade(lease);
  it.answer(retryable_maybe_executed);
  it.time.run_for(5ms);
  it.answer(tickets::done{});
  EXPECT_EQ(results, std::vector<std::error_code>(1));
  EXPECT_EQ(lease->mode(), mode::shared);
}

TEST_F(downgrading, of_unknown_outcome_is_asked_for_again) {
  const lease_record_ptr lease = hold();
  downgrade(lease);
  it.answer(permanent_maybe_executed);
  EXPECT_EQ(results.back(), errc::unknown_outcome);
  EXPECT_EQ(lease->mode(), mode::shared) << "no more can be relied on";
  downgrade(lease);
  ASSERT_EQ(it.pending_tasks(), tasks{task::downgrade}) << "the store may still take it for a writer";
  it.answer(tickets::done{});
  EXPECT_EQ(results.back(), std::error_code{});
  downgrade(lease);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(downgrading, is_not_for_permits) {
  store::claim w = a_claim();
  w.mode = mode::permits;
  w.capacity = 3;
  const lease_record_ptr lease = hold(w);
  downgrade(lease);
  EXPECT_EQ(results, std::vector{make_error_code(errc::wrong_type)});
  EXPECT_EQ(it.link.open(), 0U);
}

}  // namespace
}  // namespace holdfast
