// SPDX-License-Identifier: Apache-2.0
// What the lease manager, the keeper and the driver tell the journal, on virtual time.

#include <gtest/gtest.h>
#include <vector>

#include "core/journal.hpp"
#include "core/managed_leases.hpp"

namespace holdfast::test {
namespace {

class lease_events : public managed_leases {
 protected:
  lease_events() {
    book.observe([this](const event& e) { events.push_back(e); },
                 [](const std::function<void()>& turn) { turn(); });
    it.port.report_to(book);
    all.report_to(book);
  }
  std::vector<event_kind> kinds() const {
    std::vector<event_kind> of;
    for (const event& e : events) of.push_back(e.kind);
    return of;
  }

  /// It waits for an answer longer than a ttl.
  static store::claim patient() {
    store::claim of = a_claim();
    of.retry.limit(60s);
    return of;
  }

  std::vector<event> events;
  events::journal book;
};
using kinds_of = std::vector<event_kind>;

TEST_F(lease_events, have_the_wait_from_the_first_request_and_the_hold_from_the_grant) {
  ask();
  it.answer(waiting_at(7));
  it.time.run_for(4s);
  it.notify(1, grant_of(7));
  it.answer(granted_at(7));
  const auto lease = std::get<lease_record_ptr>(ends.back());
  it.time.run_for(3s);
  release(lease);
  ASSERT_EQ(kinds(), (kinds_of{event_kind::queued, event_kind::granted, event_kind::released}));
  EXPECT_FALSE(events[0].is_first);
  EXPECT_EQ(events[1].elapsed, 4s);
  EXPECT_EQ(events[1].token, fencing_token{7});
  EXPECT_EQ(events[1].label, "somebody");
  EXPECT_EQ(events[2].elapsed, 3s);
  EXPECT_EQ(events[2].label, "somebody");
  EXPECT_EQ(book.statistics().wait.sum, 4s);
  EXPECT_EQ(book.statistics().hold.sum, 3s);
}

TEST_F(lease_events, say_of_a_claim_whether_it_is_the_first) {
  ask();
  it.answer(head_at(7, 10s));
  ASSERT_EQ(kinds(), kinds_of{event_kind::queued});
  EXPECT_TRUE(events[0].is_first);
}

TEST_F(lease_events, have_the_whole_wait_of_a_claim_that_is_made_again) {
  ask(patient());
  it.time.run_for(31s);  // the grant arrives after its deadline
  it.answer(granted_at(7));
  ASSERT_GE(it.link.open(), 1U);
  it.answer(granted_at(8), it.link.open() - 1);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, event_kind::granted);
  EXPECT_GE(events.back().elapsed, 31s);
}

TEST_F(lease_events, say_of_a_claim_that_is_made_again_that_it_waits_now) {
  ask(patient());
  it.time.run_for(31s);  // the grant arrives after its deadline
  it.answer(granted_at(7));
  it.answer(waiting_at(8), it.link.open() - 1);
  ASSERT_EQ(kinds(), kinds_of{event_kind::queued});
}

TEST_F(lease_events, say_only_once_of_a_claim_that_it_waits) {
  ask(patient());
  it.answer(waiting_at(7));
  it.time.run_for(1s);
  it.notify(1, grant_of(7));
  it.time.run_for(31s);
  it.answer(granted_at(7), it.link.open() - 1);
  ASSERT_TRUE(ends.empty()) << "it is made again";
  it.answer(waiting_at(8), it.link.open() - 1);
  EXPECT_EQ(kinds(), kinds_of{event_kind::queued});
  EXPECT_EQ(book.statistics().queued, 1U);
}

TEST_F(lease_events, tell_a_trouble_that_follows_another_at_once) {
  ask();
  it.answer(retryable);
  it.time.run_for(1s);
  tickets::place paused = head_at(7, 10s);
  paused.pause = failure{errc::unavailable, "the failover guard"};
  it.answer(paused);
  ASSERT_EQ(kinds(), (kinds_of{event_kind::trouble, event_kind::queued, event_kind::trouble}));
  EXPECT_EQ(events[2].text, "the failover guard");
}

TEST_F(lease_events, tell_a_trouble_once_until_the_next_answer) {
  ask();
  it.answer(retryable);
  it.time.run_for(1s);
  it.answer(retryable);
  it.time.run_for(2s);
  it.answer(waiting_at(7));
  ASSERT_EQ(kinds(), (kinds_of{event_kind::trouble, event_kind::queued}));
  EXPECT_EQ(events[0].code, errc::unavailable);
  EXPECT_EQ(events[0].text, "the store does not answer");
  EXPECT_EQ(book.statistics().troubles, 1U);
}

TEST_F(lease_events, tell_that_the_store_grants_nothing_for_a_while) {
  ask();
  tickets::place paused = head_at(7, 10s);
  paused.pause = failure{errc::unavailable, "the failover guard"};
  it.answer(paused);
  ASSERT_EQ(kinds(), (kinds_of{event_kind::queued, event_kind::trouble}));
  EXPECT_EQ(events[1].text, "the failover guard");
}

TEST_F(lease_events, tell_a_withdrawal_with_its_reason_and_nothing_of_what_follows) {
  ask(a_claim(), it.time.now() + 5s);
  it.answer(waiting_at(7));
  it.time.run_for(5s);
  ASSERT_EQ(kinds(), (kinds_of{event_kind::queued, event_kind::withdrawn}));
  EXPECT_EQ(events[1].code, errc::timeout);
  EXPECT_EQ(events[1].elapsed, 5s);
  it.answer(retryable, it.link.open() - 1);
  EXPECT_EQ(events.size(), 2U) << "the withdrawal at the store is nobody's trouble";
  const auto id = ask(a_claim(2));
  cancel(id);
  EXPECT_EQ(events.back().code, errc::cancelled);
  EXPECT_EQ(book.statistics().withdrawn, 2U);
}

TEST_F(lease_events, tell_a_failure_where_the_store_did_not_answer_within_the_limit) {
  ask(a_claim(), it.time.now() + 5s);
  it.time.run_for(5s);
  ASSERT_EQ(kinds(), kinds_of{event_kind::failed});
  EXPECT_EQ(events[0].code, errc::unknown_outcome);
  EXPECT_EQ(book.statistics().failed, 1U);
}

TEST_F(lease_events, tell_a_late_renewal_at_half_of_the_ttl_and_when_it_is_confirmed) {
  const auto lease = hold();
  events.clear();
  it.time.run_for(15s - 1us);
  EXPECT_TRUE(events.empty());
  it.time.run_for(1us);
  ASSERT_EQ(kinds(), kinds_of{event_kind::renewal_late});
  EXPECT_EQ(events[0].elapsed, 5s);
  EXPECT_EQ(events[0].ttl, 30s);
  EXPECT_EQ(events[0].code, errc::unavailable);
  it.time.run_for(3s);
  EXPECT_EQ(events.size(), 1U);
  it.answer(tickets::kept{{true}});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].elapsed, 8s);
  EXPECT_FALSE(events[1].code);
  EXPECT_EQ(book.statistics().late_renewals, 1U);
  EXPECT_EQ(book.statistics().renewals, 1U);
  EXPECT_EQ(book.statistics().lateness.sum, 8s);
  EXPECT_EQ(lease->deadline(), epoch + 40s - margin);
}

TEST_F(lease_events, are_silent_about_renewals_in_time) {
  hold();
  events.clear();
  for (int i = 0; i < 5; ++i) {
    it.time.run_for(10s);
    it.answer(tickets::kept{{true}});
  }
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(book.statistics().renewals, 5U);
  EXPECT_EQ(book.statistics().late_renewals, 0U);
  EXPECT_EQ(book.statistics().lateness.count(), 5U);
}

TEST_F(lease_events, do_not_take_a_check_for_a_renewal) {
  const auto lease = hold();
  events.clear();
  it.time.run_for(10s);  // the renewal is sent
  it.notify(1, revocation(7));
  ASSERT_EQ(it.link.open(), 2U);
  it.time.run_for(7s);
  it.answer(tickets::kept{{true}}, 1);
  EXPECT_EQ(book.statistics().renewals, 0U);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(book.statistics().renewals, 1U);
  EXPECT_EQ(book.statistics().lateness.sum, 7s);
  EXPECT_EQ(book.statistics().late_renewals, 1U);
}

TEST_F(lease_events, tell_a_loss_at_the_deadline) {
  hold();
  events.clear();
  it.time.run_for(30s);
  ASSERT_EQ(kinds(), (kinds_of{event_kind::renewal_late, event_kind::lost}));
  EXPECT_EQ(events[1].loss, loss_reason::not_renewed);
  EXPECT_EQ(book.statistics().lost_not_renewed, 1U);
  EXPECT_EQ(book.statistics().held(), 0U);
}

TEST_F(lease_events, tell_at_the_close_what_it_ends) {
  hold();
  ask(a_claim(2));
  events.clear();
  close();
  ASSERT_EQ(kinds(), (kinds_of{event_kind::withdrawn, event_kind::lost}));
  EXPECT_EQ(events[0].code, errc::closed);
  EXPECT_EQ(events[1].loss, loss_reason::client_closed);
}

/// Nobody observes.
class counted_leases : public managed_leases {
 protected:
  counted_leases() { all.report_to(book); }
  events::journal book;
};

TEST_F(counted_leases, have_no_timer_for_lateness) {
  hold();
  it.time.run_for(15s - 1us);
  EXPECT_GT(it.time.next_timer(), epoch + 15s);
  it.time.run_for(3s + 1us);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(book.statistics().late_renewals, 1U);
  EXPECT_EQ(book.statistics().lateness.sum, 8s);
}

TEST_F(counted_leases, count_a_late_renewal_that_no_answer_confirmed) {
  hold();
  it.time.run_for(30s);
  EXPECT_EQ(book.statistics().lost_not_renewed, 1U);
  EXPECT_EQ(book.statistics().late_renewals, 1U);
}

TEST_F(counted_leases, count_a_release_before_a_renewal_is_late_alone) {
  const auto lease = hold();
  it.time.run_for(14s);
  release(lease);
  EXPECT_EQ(book.statistics().released, 1U);
  EXPECT_EQ(book.statistics().late_renewals, 0U);
}

}  // namespace
}  // namespace holdfast::test
