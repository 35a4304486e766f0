// SPDX-License-Identifier: Apache-2.0
// The keeper: when it renews, with whom, and when it declares a loss.

#include "lease/keeper.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/runner_fixture.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::lease_record_ptr;

class keeper : public testing::Test {
 protected:
  struct loss {
    lease_record_ptr lease;
    store::time_point when;
    loss_reason reason;
  };

  lease_record_ptr keep(const lease_record_ptr& lease, store::time_point valid_from) {
    it.time.turn([&] { kept.add(lease, {lease->hold.token, valid_from}); });
    return lease;
  }
  lease_record_ptr keep(std::uint8_t owner) { return keep(a_lease(owner), it.time.now()); }

  /// One loss, told in time: at the deadline, or so little before it that the notification arrives by then.
  void expect_loss_at(store::time_point deadline, loss_reason reason = loss_reason::not_renewed) const {
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_LE(losses[0].when, deadline);
    EXPECT_GE(losses[0].when, deadline - earliness);
    EXPECT_EQ(losses[0].reason, reason);
  }
  static constexpr duration earliness = 1ms;

  runner_fixture it;
  std::vector<loss> losses;
  lease_core::keeper kept{it.time, it.port, [this](const lease_record_ptr& lease, loss_reason reason) {
                            losses.push_back({lease, it.time.now(), reason});
                            kept.remove(lease);
                          }};
};

TEST(deadline, counts_from_the_sending_and_leaves_a_margin) {
  static_assert(lease_core::deadline_of(epoch, 30s, 302ms) == epoch + 29'698ms);
}

TEST_F(keeper, renews_at_a_third_of_the_ttl) {
  const lease_record_ptr lease = keep(1);
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  it.time.run_until(epoch + 10s - 1ns);
  EXPECT_EQ(it.link.open(), 0U);
  it.time.run_until(epoch + 10s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  ASSERT_EQ(std::get<tickets::renew>(it.link.request()).holds.size(), 1U);
  const store::hold& renewed = std::get<tickets::renew>(it.link.request()).holds.front();
  EXPECT_EQ(renewed.name, "stock");
  EXPECT_EQ(renewed.owner, id(1));
  EXPECT_EQ(renewed.token, fencing_token{1});
  EXPECT_EQ(renewed.ttl, 30s);
}

TEST_F(keeper, counts_a_renewal_from_its_sending) {
  const lease_record_ptr lease = keep(1);
  it.time.run_for(10s);
  it.time.run_for(3s);  // a slow store
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->deadline(), epoch + 40s - margin);
  it.time.run_until(epoch + 20s - 1ns);
  EXPECT_EQ(it.link.open(), 0U);
  it.time.run_until(epoch + 20s);
  EXPECT_EQ(it.link.open(), 1U);
  EXPECT_TRUE(losses.empty());
}

TEST_F(keeper, goes_on_for_as_long_as_the_store_says_yes) {
  const lease_record_ptr lease = keep(1);
  for (int i = 0; i < 1000; ++i) {
    it.time.run_for(10s);
    it.answer(tickets::kept{{true}});
  }
  EXPECT_EQ(lease->deadline(), epoch + 10'000s + 30s - margin);
  EXPECT_EQ(it.link.sent(), 1000U);
  EXPECT_TRUE(losses.empty());
}

TEST_F(keeper, sends_at_most_256_in_one_request) {
  for (int i = 0; i < 600; ++i) keep(a_lease(1), epoch);
  it.time.run_for(10s);
  ASSERT_EQ(it.link.open(), 3U);
  EXPECT_EQ(std::get<tickets::renew>(it.link.request(0)).holds.size(), 256U);
  EXPECT_EQ(std::get<tickets::renew>(it.link.request(1)).holds.size(), 256U);
  EXPECT_EQ(std::get<tickets::renew>(it.link.request(2)).holds.size(), 88U);
}

TEST_F(keeper, lets_leases_travel_together_that_are_due_close_together) {
  for (int i = 0; i < 100; ++i) {
    keep(a_lease(1), it.time.now());
    it.time.run_for(12ms);
  }
  keep(a_lease(2), epoch + 5s);  // not close
  it.time.run_until(epoch + 11s);
  ASSERT_EQ(it.link.sent(), 1U);
  EXPECT_EQ(std::get<tickets::renew>(it.link.request()).holds.size(), 100U);
  it.answer(tickets::kept{std::vector<bool>(100, true)});
  it.time.run_until(epoch + 15s);
  it.answer(tickets::kept{{true}});
  // And together they stay.
  it.time.run_until(epoch + 20s);
  ASSERT_EQ(it.link.open(), 1U);
  EXPECT_EQ(std::get<tickets::renew>(it.link.request()).holds.size(), 100U);
  EXPECT_EQ(it.link.sent(), 3U);
}

TEST_F(keeper, declares_the_loss_at_the_deadline_though_no_answer_ever_comes) {
  const lease_record_ptr lease = keep(1);
  it.time.run_until(lease->deadline());
  EXPECT_EQ(it.link.open(), 1U) << "asked, and never answered";
  expect_loss_at(epoch + 30s - margin);
  EXPECT_EQ(losses[0].lease, lease);
}

TEST_F(keeper, tries_until_the_deadline_with_growing_pauses) {
  const lease_record_ptr lease = keep(1);
  it.time.run_for(10s);
  std::vector<duration> pauses;
  while (losses.empty()) {
    ASSERT_EQ(it.link.open(), 1U);
    it.answer(retryable_maybe_executed);
    const auto failed = it.time.now();
    ASSERT_EQ(lease->deadline(), epoch + 30s - margin) << "no answer moves nothing";
    it.time.run_until(it.time.next_timer());
    pauses.push_back(std::chrono::duration_cast<duration>(it.time.now() - failed));
  }
  expect_loss_at(epoch + 30s - margin);
  EXPECT_EQ(it.link.open(), 0U);
  pauses.pop_back();  // cut short by the deadline
  ASSERT_GT(pauses.size(), 20U);
  duration step = 5ms;
  for (const duration pause : pauses) {
    EXPECT_LE(pause, step);
    EXPECT_GE(pause, step / 2);
    step = std::min<duration>(step * 2, 1s);
  }
  it.time.run_for(1h);
  EXPECT_EQ(it.link.open(), 0U) << "what is lost is not renewed";
}

TEST_F(keeper, tries_at_least_once_a_second_and_several_times_in_a_ttl_whatever_the_policy_of_claims) {
  for (const duration ttl : {duration{30s}, duration{1s}}) {
    losses.clear();
    store::claim slow = a_claim();
    slow.ttl = ttl;
    slow.margin = ttl / 100;
    slow.retry.first(40s);
    keep(std::make_shared<lease_core::lease_record>(slow, fencing_token{1}), it.time.now());
    it.time.run_for(ttl / 3);
    int tries = 0;
    for (; losses.empty(); ++tries) {
      ASSERT_EQ(it.link.open(), 1U);
      it.answer(retryable_maybe_executed);
      const auto failed = it.time.now();
      it.time.run_until(it.time.next_timer());
      EXPECT_LE(it.time.now() - failed, std::min<duration>(1s, ttl / 10));
    }
    EXPECT_GE(tries, 6);
  }
}

TEST_F(keeper, survives_a_store_that_does_not_answer_for_a_while) {
  const lease_record_ptr lease = keep(1);
  it.time.run_for(10s);
  it.answer(retryable_maybe_executed);
  it.time.run_for(5ms);
  it.answer(permanent);
  it.time.run_for(10ms);
  const auto sent = it.time.now();
  ASSERT_EQ(it.link.open(), 1U);
  it.answer(tickets::kept{{true}});
  EXPECT_GT(lease->deadline(), epoch + 39s - margin);
  EXPECT_LE(lease->deadline(), sent + 30s - margin);
}

TEST_F(keeper, never_brings_back_what_has_expired) {
  const lease_record_ptr lease = keep(1);
  it.time.run_until(lease->deadline());
  ASSERT_EQ(losses.size(), 1U);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  EXPECT_TRUE(kept.all().empty());
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(keeper, takes_no_late_yes_even_before_its_own_timer_has_run) {
  const lease_record_ptr lease = keep(1);
  it.time.run_for(10s);
  it.time.stop_for(20s);  // the process was stopped; on waking, the answer comes before the timer
  it.answer(tickets::kept{{true}});
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].reason, loss_reason::not_renewed);
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  it.time.run_for(1h);
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(keeper, takes_no_yes_that_comes_at_the_deadline_itself) {
  const lease_record_ptr lease = keep(1);
  it.time.run_for(10s);
  it.time.stop_for(20s - margin);
  ASSERT_EQ(it.time.now(), lease->deadline());
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(keeper, renews_nothing_whose_deadline_passed_while_the_process_was_stopped) {
  keep(1);
  it.time.stop_for(31s);
  it.time.run_for(0s);
  EXPECT_EQ(losses.size(), 1U);
  EXPECT_EQ(it.link.sent(), 0U);
}

TEST_F(keeper, believes_a_store_that_says_lost) {
  keep(1);
  keep(2);
  it.time.run_for(10s);
  const owner_id first = std::get<tickets::renew>(it.link.request()).holds.at(0).owner;
  it.answer(tickets::kept{{false, true}});
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].lease->hold.owner, first);
  EXPECT_EQ(losses[0].when, epoch + 10s);
  EXPECT_EQ(losses[0].reason, loss_reason::ended_at_store);
  ASSERT_EQ(kept.all().size(), 1U);
  EXPECT_EQ(kept.all()[0]->deadline(), epoch + 40s - margin) << "the other one of the batch";
}

TEST_F(keeper, ignores_answers_about_what_was_removed_meanwhile) {
  for (const bool yes : {true, false}) {
    const lease_record_ptr lease = keep(1);
    const auto deadline = lease->deadline();
    it.time.run_for(10s);
    kept.remove(lease);
    it.answer(tickets::kept{{yes}});
    EXPECT_EQ(lease->deadline(), deadline);
    EXPECT_TRUE(kept.all().empty());
  }
  it.time.run_for(1h);
  EXPECT_TRUE(losses.empty());
  EXPECT_EQ(it.link.sent(), 2U);
}

TEST_F(keeper, sends_nothing_for_what_was_removed) {
  const lease_record_ptr lease = keep(1);
  kept.remove(lease);
  kept.remove(lease);
  it.time.run_for(1h);
  EXPECT_EQ(it.link.sent(), 0U);
  EXPECT_TRUE(losses.empty());
}

TEST_F(keeper, looks_at_those_that_come_first_first) {
  keep(1);
  it.time.run_for(1s);
  const lease_record_ptr shorter = keep(a_lease(2, true, 3s), it.time.now());
  it.time.run_for(1s);
  ASSERT_EQ(it.link.open(), 1U);
  EXPECT_EQ(std::get<tickets::renew>(it.link.request()).holds[0].owner, id(2));
}

// By hand.

TEST_F(keeper, renews_by_hand) {
  const lease_record_ptr lease = keep(1);
  std::vector<renewal> renewals;
  it.time.run_for(4s);
  kept.renew(lease, [&](renewal outcome) { renewals.push_back(outcome); });
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  it.time.run_for(1s);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(renewals, std::vector{renewal::renewed});
  EXPECT_EQ(lease->deadline(), epoch + 34s - margin);
  it.time.run_until(epoch + 14s - 1ns);
  EXPECT_EQ(it.link.open(), 0U) << "by itself it is due a third after the last renewal";
  it.time.run_for(1ns);
  EXPECT_EQ(it.link.open(), 1U);
}

TEST_F(keeper, tells_who_renews_by_hand_what_became_of_it) {
  const lease_record_ptr lease = keep(a_lease(1, false), epoch);
  std::vector<renewal> renewals;
  const auto note = [&](renewal outcome) { renewals.push_back(outcome); };
  kept.renew(lease, note);
  it.answer(retryable_maybe_executed);
  EXPECT_EQ(renewals.back(), renewal::unknown);
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  kept.renew(lease, note);
  it.answer(tickets::kept{{false}});
  EXPECT_EQ(renewals.back(), renewal::lost);
  EXPECT_EQ(losses.size(), 1U);
  kept.renew(lease, note);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(renewals, (std::vector{renewal::unknown, renewal::lost, renewal::lost}));
}

TEST_F(keeper, tells_who_renews_by_hand_at_the_deadline_at_the_latest) {
  const lease_record_ptr lease = keep(a_lease(1, false), epoch);
  std::vector<renewal> renewals;
  store::time_point notified_at;
  kept.renew(lease, [&](renewal outcome) {
    renewals.push_back(outcome);
    notified_at = it.time.now();
  });
  it.time.run_for(1h);  // the store never answers
  EXPECT_EQ(renewals, std::vector{renewal::lost});
  EXPECT_LE(notified_at, lease->deadline());
}

TEST_F(keeper, is_not_set_back_by_an_older_answer) {
  const lease_record_ptr lease = keep(1);
  it.time.run_for(10s);  // its own renewal is under way
  it.time.run_for(2s);
  kept.renew(lease, [](renewal) {});
  it.answer(tickets::kept{{true}}, 1);
  EXPECT_EQ(lease->deadline(), epoch + 42s - margin);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->deadline(), epoch + 42s - margin);
}

TEST_F(keeper, leaves_a_fixed_lease_alone_until_its_deadline) {
  const lease_record_ptr lease = keep(a_lease(1, false), epoch);
  it.time.run_for(1h);
  expect_loss_at(lease->deadline());
  EXPECT_EQ(it.link.sent(), 0U);
}

TEST_F(keeper, moves_a_fixed_lease_only_by_hand) {
  const lease_record_ptr lease = keep(a_lease(1, false), epoch);
  it.time.run_for(20s);
  kept.renew(lease, [](renewal) {});
  it.answer(tickets::kept{{true}});
  it.time.run_for(1h);
  expect_loss_at(epoch + 50s - margin);
  EXPECT_EQ(it.link.sent(), 1U);
}

// Of a session.

TEST_F(keeper, believes_no_lease_beyond_the_session_that_it_lives_in) {
  it.link.session = epoch + 12s;
  const lease_record_ptr lease = keep(1);
  EXPECT_EQ(lease->deadline(), epoch + 12s);
  // The link hears of the server for a while.
  for (int i = 1; i <= 20; ++i) {
    it.time.run_for(10s);
    it.time.turn([&] { it.link.extend_session(it.time.now() + 12s); });
    EXPECT_EQ(lease->deadline(), it.time.now() + 12s) << "known before the next renewal is answered";
    it.answer(tickets::kept{{true}});
  }
  EXPECT_EQ(it.link.sent(), 20U);
  EXPECT_TRUE(losses.empty());
  // Then no more: neither that, nor an answer.
  const auto end = *it.link.session;
  it.time.run_for(1h);
  expect_loss_at(end, loss_reason::session_ended);
}

TEST_F(keeper, believes_no_lease_beyond_its_own_ttl_either) {
  it.link.session = epoch + 1h;
  const lease_record_ptr lease = keep(1);
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  it.time.run_for(1h);  // no renewal is answered
  expect_loss_at(epoch + 30s - margin);
}

TEST_F(keeper, of_an_ended_session_keeps_no_deadline_that_never_was) {
  it.link.session = epoch + 12s;
  const lease_record_ptr lease = keep(1);
  it.time.run_for(5s);
  it.time.turn([&] { it.link.extend_session(store::time_point{}); });  // it has ended, the link says
  it.time.run_for(0s);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(lease->deadline(), epoch + 5s) << "until then it could be believed";
}

TEST_F(keeper, does_not_bring_back_what_ended_with_its_session) {
  it.link.session = epoch + 5s;
  const lease_record_ptr lease = keep(1);
  it.time.stop_for(6s);  // this process was paused
  it.time.turn([&] { it.link.extend_session(epoch + 1h); });
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].lease, lease);
  EXPECT_EQ(losses[0].reason, loss_reason::session_ended);
  EXPECT_LT(lease->deadline(), it.time.now());
}

}  // namespace
}  // namespace holdfast
