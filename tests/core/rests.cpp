// SPDX-License-Identifier: Apache-2.0
// How a name rests: the claim that the store keeps for longer than its client believes, and the last renewal.

#include <gtest/gtest.h>
#include <string>

#include "base/metadata.hpp"
#include "core/managed_leases.hpp"
#include "core/questions.hpp"

namespace holdfast {
namespace {

using namespace test;

class rests : public managed_leases {
 protected:
  static store::claim with_grace(duration grace) {
    store::claim wish = a_claim();
    wish.grace = grace;
    return wish;
  }
  static store::claim with_least(duration least) {
    store::claim wish = a_claim();
    wish.at_least = least;
    return wish;
  }
  /// The ttl of the one hold that a request renews.
  [[nodiscard]] duration renewed_ttl(std::size_t which = 0) const {
    return std::get<tickets::renew>(it.link.request(which)).holds.at(0).ttl;
  }
};

TEST_F(rests, the_store_keeps_a_claim_for_its_grace_longer) {
  ask(with_grace(15s));
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(form_of(it.link.request()).ttl, 45s);
  EXPECT_EQ(std::get<tickets::acquire>(it.link.request()).claim->grace, 15s);
  it.answer(granted_at(7));
  const auto lease = std::get<lease_record_ptr>(ends.back());
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin) << "the client does not believe it";
  it.time.run_until(epoch + 10s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew}) << "a third of the ttl, without the grace";
  EXPECT_EQ(renewed_ttl(), 45s);
  EXPECT_FALSE(form_of(it.link.request()).is_last);
  it.answer(tickets::kept{{true}});
  EXPECT_GE(lease->deadline(), epoch + 30s);
  EXPECT_LE(lease->deadline(), epoch + 40s - margin);
}

TEST_F(rests, a_waiting_claim_keeps_its_place_with_the_grace) {
  ask(with_grace(15s));
  it.answer(waiting_at(7));
  it.notify(1, grant_of(7));
  ASSERT_EQ(it.pending_tasks(), tasks{task::look});
  EXPECT_EQ(form_of(it.link.request()).ttl, 45s);
}

TEST_F(rests, an_old_answer_is_asked_again_by_the_ttl_without_the_grace) {
  store::claim wish = with_grace(300s);
  wish.ttl = 12s;
  ask(wish);
  it.time.run_for(8s);
  it.answer(granted_at(7));
  EXPECT_EQ(it.pending_tasks(), tasks{task::look}) << "two thirds of the ttl are over";
}

TEST_F(rests, after_a_loss_the_name_rests_for_the_grace) {
  const lease_record_ptr lease = hold(with_grace(15s));
  it.time.run_until(lease->deadline());
  ASSERT_EQ(lease->state(), phase::lost);
  ASSERT_EQ(it.pending_tasks(), (tasks{task::renew, task::renew})) << "no release";
  EXPECT_TRUE(form_of(it.link.request(1)).is_last);
  EXPECT_GE(renewed_ttl(1), 15s);
  EXPECT_LE(renewed_ttl(1), 15s + margin + 1ms) << "a late renewal must not prolong the rest";
}

TEST_F(rests, after_a_loss_that_is_reported_late_the_rest_of_the_grace_counts) {
  const lease_record_ptr lease = hold(with_grace(15s));
  it.time.stop_for(40s);
  it.time.run_for(0s);
  ASSERT_EQ(lease->state(), phase::lost);
  EXPECT_LE(renewed_ttl(it.link.open() - 1), 5s + margin);
}

TEST_F(rests, a_hold_that_the_store_has_ended_does_not_rest) {
  const lease_record_ptr lease = hold(with_grace(15s));
  it.notify(1, revocation());
  it.answer(tickets::kept{{false}});
  ASSERT_EQ(lease->state(), phase::lost);
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(rests, a_release_does_not_wait_for_the_grace) {
  release(hold(with_grace(15s)));
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(rests, closing_does_not_wait_for_the_grace) {
  const lease_record_ptr lease = hold(with_grace(15s));
  close();
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(rests, a_release_before_the_least_time_is_a_last_renewal) {
  const lease_record_ptr lease = hold(with_least(60s));
  it.time.run_for(5s);
  release(lease);
  EXPECT_EQ(lease->state(), phase::releasing);
  ASSERT_EQ(it.pending_tasks(), (tasks{task::annotate, task::renew}));
  EXPECT_TRUE(form_of(it.link.request(1)).is_last);
  EXPECT_EQ(renewed_ttl(1), 55s);
  const claimant shown = from_metadata(*form_of(it.link.request(0)).metadata);
  EXPECT_TRUE(shown.released);
  EXPECT_EQ(shown.label, "somebody");
  it.answer(tickets::done{});
  EXPECT_TRUE(released.empty());
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(released, std::vector{std::error_code{}});
  it.time.run_for(1h);
  EXPECT_EQ(it.link.open(), 0U) << "nobody renews it any more";
  EXPECT_TRUE(losses.empty());
}

TEST_F(rests, the_last_renewal_waits_for_the_answer_to_those_before) {
  const lease_record_ptr lease = hold(with_least(60s));
  it.time.run_for(10s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  it.time.turn([&] { all.renew(lease, [](renewal) {}); });
  release(lease);
  ASSERT_EQ(it.pending_tasks(), (tasks{task::renew, task::renew, task::annotate}))
      << "a store that carried it out first would keep the name for a whole ttl";
  it.answer(retryable_maybe_executed);
  ASSERT_EQ(it.pending_tasks(), (tasks{task::renew, task::annotate}));
  it.answer(tickets::kept{{true}});
  ASSERT_EQ(it.pending_tasks(), (tasks{task::annotate, task::renew}));
  EXPECT_TRUE(form_of(it.link.request(1)).is_last);
  EXPECT_EQ(renewed_ttl(1), 50s);
  it.answer(tickets::kept{{true}}, 1);
  EXPECT_EQ(released, std::vector{std::error_code{}});
}

TEST_F(rests, the_last_renewal_does_not_wait_until_the_hold_has_ended) {
  const lease_record_ptr lease = hold(with_least(60s));
  it.time.run_for(10s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew}) << "which is not answered";
  const store::time_point deadline = lease->deadline();
  const store::time_point middle = it.time.now() + (deadline - it.time.now()) / 2;
  release(lease);
  it.time.run_until(middle - 1ms);
  ASSERT_EQ(it.pending_tasks(), (tasks{task::renew, task::annotate}));
  it.time.run_until(middle);
  ASSERT_EQ(it.pending_tasks(), (tasks{task::renew, task::annotate, task::renew}));
  EXPECT_TRUE(form_of(it.link.request(2)).is_last);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(it.link.sent(), 4U) << "once";
  it.answer(tickets::kept{{true}}, 1);
  EXPECT_EQ(released, std::vector{std::error_code{}});
}

TEST_F(rests, a_renewal_says_until_when_it_may_be_sent) {
  const lease_record_ptr lease = hold(with_grace(15s));
  const store::time_point deadline = lease->deadline();
  it.time.run_for(10s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  EXPECT_EQ(form_of(it.link.request()).send_by, deadline);
}

TEST_F(rests, a_release_after_the_least_time_is_a_usual_one) {
  store::claim wish = with_least(5s);
  const lease_record_ptr lease = hold(wish);
  it.time.run_for(5s);
  release(lease);
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(rests, closing_leaves_the_least_time_to_the_store) {
  const lease_record_ptr lease = hold(with_least(60s));
  close();
  EXPECT_EQ(lease->state(), phase::lost);
  EXPECT_EQ(it.pending_tasks(), (tasks{task::annotate, task::renew}));
  EXPECT_GT(it.port.busy(), 0U) << "the client waits for it";
}

TEST_F(rests, a_store_of_sessions_refuses) {
  it.link.session = store::time_point::max();
  for (const store::claim& each : {with_grace(1s), with_least(1s)}) {
    ask(each);
    it.time.run_for(0s);
    EXPECT_EQ(failure_at_end(), errc::invalid_argument);
  }
  EXPECT_EQ(it.link.sent(), 0U);
  EXPECT_TRUE(hold());
}

/// The machine of the last renewal, by hand.
class last_renewal : public testing::Test {
 protected:
  using machine = tickets::call<tickets::ending>;
  machine::step feed(const store::event<tickets::reply>& e) { return it.resume(now, 0, e); }
  machine::step reply(tickets::reply r) { return feed(store::replied<tickets::reply>{std::move(r)}); }
  machine::step fail(const store::request_error& t) { return feed(store::replied<tickets::reply>{t}); }

  store::time_point now = epoch;
  static machine of_a_hold() {
    return {{{"stock", id(1), fencing_token{7}, 30s}, epoch + 100ms}, retry_policy{}, epoch + 30s};
  }
  machine it = of_a_hold();
};

TEST_F(last_renewal, is_tried_again_with_what_is_left) {
  auto s = feed(store::started{});
  ASSERT_TRUE(s.send);
  EXPECT_EQ(task_of(*s.send), task::renew);
  EXPECT_EQ(std::get<tickets::renew>(*s.send).holds.at(0).ttl, 100ms);
  now += 20ms;
  s = fail(retryable_maybe_executed);
  ASSERT_TRUE(s.wake_at);
  EXPECT_FALSE(s.answer);
  now = *s.wake_at;
  s = feed(store::woken{});
  ASSERT_TRUE(s.send);
  EXPECT_EQ(std::get<tickets::renew>(*s.send).holds.at(0).ttl, 100ms - (now - epoch));
  s = reply(tickets::kept{{true}});
  EXPECT_EQ(s.answer, store::released::done);
  EXPECT_TRUE(s.finished);
}

TEST_F(last_renewal, becomes_a_release_when_nothing_is_left) {
  feed(store::started{});
  now += 101ms;
  const auto s = fail(retryable);
  now = *s.wake_at;
  EXPECT_EQ(task_of(*feed(store::woken{}).send), task::release);
  EXPECT_EQ(reply(tickets::done{}).answer, store::released::done);
}

TEST_F(last_renewal, is_tried_again_where_the_store_could_not_look) {
  feed(store::started{});
  const auto s = reply(tickets::kept{{false}, {0}});
  EXPECT_FALSE(s.answer);
  ASSERT_TRUE(s.wake_at);
  now = *s.wake_at;
  EXPECT_EQ(task_of(*feed(store::woken{}).send), task::renew);
}

TEST_F(last_renewal, says_what_became_of_the_hold) {
  feed(store::started{});
  EXPECT_EQ(reply(tickets::kept{{false}}).answer, store::released::was_gone);
}

TEST_F(last_renewal, doubts_after_a_try_without_an_answer) {
  feed(store::started{});
  now = *fail(retryable_maybe_executed).wake_at;
  feed(store::woken{});
  EXPECT_EQ(reply(tickets::kept{{false}}).answer, store::released::done) << "it may have ended by that try";
}

TEST_F(last_renewal, doubts_after_an_answer_that_too_few_servers_gave) {
  feed(store::started{});
  now = *reply(tickets::kept{{false}, {0}}).wake_at;
  now += 101ms;
  feed(store::woken{});
  EXPECT_EQ(reply(tickets::nothing{}).answer, store::released::done) << "it may have rested, and ended";
}

TEST_F(last_renewal, ends_with_the_hold) {
  EXPECT_EQ(feed(store::started{}).wake_at, epoch + 30s);
  now += 30s;
  const auto s = feed(store::woken{});
  EXPECT_EQ(s.answer, store::released::unknown);
  EXPECT_TRUE(s.finished);
}

TEST_F(last_renewal, is_not_tried_again_where_that_is_useless) {
  feed(store::started{});
  EXPECT_EQ(fail(permanent).answer, store::released::unknown);
}

// A user may get the right to release back before the hold has ended.
TEST_F(last_renewal, goes_on_where_the_store_refuses_and_answers_at_once) {
  feed(store::started{});
  auto s = fail({{errc::permission_denied, "no right"}, false, false});
  EXPECT_EQ(s.answer, store::released::unknown);
  EXPECT_TRUE(s.in_vain) << "nobody waits for the tries behind it";
  EXPECT_FALSE(s.finished);
  ASSERT_TRUE(s.wake_at);
  now = *s.wake_at;
  ASSERT_TRUE(feed(store::woken{}).send);
  s = fail({{errc::permission_denied, "no right"}, false, false});
  EXPECT_FALSE(s.answer) << "once";
  ASSERT_TRUE(s.wake_at);
  now = epoch + 101ms;
  EXPECT_EQ(task_of(*feed(store::woken{}).send), task::release);
  EXPECT_TRUE(reply(tickets::done{}).finished);
}

TEST_F(last_renewal, goes_on_no_longer_than_the_hold_lasts) {
  feed(store::started{});
  now = epoch + 30s;
  EXPECT_TRUE(fail({{errc::permission_denied, "no right"}, false, false}).finished);
}

TEST_F(last_renewal, ends_where_no_try_would_find_the_hold) {
  for (const errc code : {errc::wrong_type, errc::closed, errc::exhausted}) {
    it = of_a_hold();
    feed(store::started{});
    const auto s = fail({{code, "it is gone"}, false, false});
    EXPECT_EQ(s.answer, store::released::unknown);
    EXPECT_TRUE(s.finished);
  }
}

TEST_F(rests, a_release_that_is_refused_is_sent_again) {
  const auto lease = hold();
  release(lease);
  it.answer(store::request_error{{errc::permission_denied, "no right"}, false, false});
  EXPECT_EQ(released, std::vector<std::error_code>{errc::unknown_outcome});
  EXPECT_EQ(it.port.busy(), 0U) << "no client that is closed waits for it";
  it.time.run_for(5s);
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

}  // namespace
}  // namespace holdfast
