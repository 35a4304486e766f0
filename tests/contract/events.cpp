// SPDX-License-Identifier: Apache-2.0
// What a client tells its observer, and what it counts.

#include <atomic>
#include <future>
#include <stop_token>

#include "contract/contract.hpp"
#include "support/event_log.hpp"

namespace holdfast::contract {
namespace {

using test::event_log;

class observed_clients : public on_each_store {
 protected:
  client& observed(event_log& log) { return open(client_options{}.observer(log.observer())); }
  static lock_options labelled() { return lock_options{}.label("reindex").ttl(20s); }
};

/// What each event of a claim says.
void expect_claim(const std::optional<event>& e, const std::string& name, mode as = mode::exclusive) {
  ASSERT_TRUE(e);
  EXPECT_EQ(e->name, name);
  EXPECT_EQ(e->mode, as);
  EXPECT_EQ(e->label, "reindex");
  EXPECT_EQ(e->dropped, 0U);
}

TEST_P(observed_clients, hear_of_a_grant_and_its_release) {
  event_log log;
  client& locks = observed(log);
  auto held = mutex{locks, "stock", labelled()}.acquire();
  const fencing_token token = held.token();
  const auto granted = log.await(event_kind::granted);
  expect_claim(granted, "stock");
  EXPECT_EQ(granted->token, token);
  EXPECT_EQ(granted->ttl, 20s);
  EXPECT_FALSE(held.release());
  const auto released = log.await(event_kind::released);
  expect_claim(released, "stock");
  EXPECT_EQ(released->token, token);
  EXPECT_GE(released->at, granted->at);
  EXPECT_FALSE(log.has(event_kind::queued));

  const client_statistics s = locks.statistics();
  EXPECT_EQ(s.granted_exclusive, 1U);
  EXPECT_EQ(s.granted(), 1U);
  EXPECT_EQ(s.released, 1U);
  EXPECT_EQ(s.held(), 0U);
  EXPECT_EQ(s.wait.count(), 1U);
  EXPECT_EQ(s.hold.count(), 1U);
  EXPECT_EQ(s.events_dropped, 0U);
}

TEST_P(observed_clients, hear_of_readers_and_permits) {
  HOLDFAST_NEEDS_PERMITS();
  event_log log;
  client& locks = observed(log);
  auto reader = shared_mutex{locks, "page", labelled()}.acquire_shared();
  expect_claim(log.await(event_kind::granted), "page", mode::shared);
  auto permits = counting_semaphore{locks, "slots", 3, labelled()}.acquire_permits(2);
  const auto granted =
      log.await([](const event& e) { return e.kind == event_kind::granted && e.name == "slots"; });
  expect_claim(granted, "slots", mode::permits);
  EXPECT_EQ(granted->permits, 2);
  EXPECT_EQ(granted->token, permits.token());
  EXPECT_EQ(locks.statistics().granted_shared, 1U);
  EXPECT_EQ(locks.statistics().granted_permits, 1U);
  EXPECT_EQ(locks.statistics().held(), 2U);
}

TEST_P(observed_clients, hear_of_a_claim_that_waits_and_of_its_grant) {
  auto first = mutex{two(), "stock"}.acquire();
  event_log log;
  client& locks = observed(log);
  auto second = std::async(std::launch::async, [&] { return mutex{locks, "stock", labelled()}.acquire(); });
  const auto queued = log.await(event_kind::queued);
  expect_claim(queued, "stock");
  EXPECT_FALSE(log.has(event_kind::granted));
  const auto until = boot_clock::now();
  EXPECT_FALSE(first.release());
  const auto held = second.get();
  const auto granted = log.await(event_kind::granted);
  expect_claim(granted, "stock");
  EXPECT_EQ(granted->token, held.token());
  EXPECT_GE(granted->elapsed, std::chrono::duration_cast<duration>(until - queued->at))
      << "the wait includes the time in the queue";
  EXPECT_EQ(locks.statistics().queued, 1U);
}

TEST_P(observed_clients, hear_of_a_refusal) {
  auto first = mutex{two(), "stock"}.acquire();
  event_log log;
  client& locks = observed(log);
  EXPECT_FALSE(mutex(locks, "stock", labelled()).try_acquire());
  const auto refused = log.await(event_kind::refused);
  expect_claim(refused, "stock");
  EXPECT_EQ(refused->code, errc::timeout);
  EXPECT_FALSE(refused->token);
  EXPECT_EQ(locks.statistics().refused, 1U);
  EXPECT_EQ(locks.statistics().granted(), 0U);
}

TEST_P(observed_clients, hear_of_claims_that_are_given_up) {
  auto first = mutex{two(), "stock"}.acquire();
  event_log log;
  client& locks = observed(log);
  const auto begin = boot_clock::now();
  EXPECT_FALSE(answered([&] { return mutex(locks, "stock", labelled()).try_acquire_for(brief_wait); }));
  const auto timed_out = log.await(event_kind::withdrawn);
  expect_claim(timed_out, "stock");
  EXPECT_EQ(timed_out->code, errc::timeout);
  EXPECT_LE(timed_out->elapsed, std::chrono::ceil<duration>(timed_out->at - begin));
  EXPECT_EQ(locks.statistics().withdrawn, 1U);
  EXPECT_EQ(locks.statistics().refused, 0U);
}

TEST_P(observed_clients, hear_of_a_claim_that_is_stopped_while_it_waits) {
  auto first = mutex{two(), "stock"}.acquire();
  event_log log;
  client& locks = observed(log);
  std::stop_source stop;
  auto second = std::async(std::launch::async, [&] {
    return mutex{locks, "stock", labelled()}.try_acquire_for(std::chrono::minutes{1}, stop.get_token());
  });
  const auto queued = log.await(event_kind::queued);
  ASSERT_TRUE(queued);
  const auto until = boot_clock::now();
  stop.request_stop();
  EXPECT_FALSE(second.get());
  const auto stopped = log.await(event_kind::withdrawn);
  expect_claim(stopped, "stock");
  EXPECT_EQ(stopped->code, errc::cancelled);
  EXPECT_GE(stopped->elapsed, std::chrono::duration_cast<duration>(until - queued->at))
      << "the wait includes the time in the queue";
}

TEST_P(observed_clients, hear_of_a_claim_that_fails) {
  HOLDFAST_NEEDS_PERMITS();
  auto permits = counting_semaphore{two(), "slots", 3}.acquire_permits(1);
  event_log log;
  client& locks = observed(log);
  EXPECT_THROW((void)counting_semaphore(locks, "slots", 4, labelled()).acquire_permits(1), error);
  const auto failed = log.await(event_kind::failed);
  expect_claim(failed, "slots", mode::permits);
  EXPECT_EQ(failed->code, errc::wrong_type);
  EXPECT_FALSE(failed->text.empty());
  EXPECT_EQ(locks.statistics().failed, 1U);
}

TEST_P(observed_clients, hear_of_a_hold_that_is_ended_by_force) {
  event_log log;
  client& locks = observed(log);
  auto held = mutex{locks, "stock", labelled()}.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(bystander().force_release("stock"), 1U);
  // It finds out, where no notification does. A leader of an ensemble may answer as it was before.
  const auto confirmed = held.renew() == renewal::renewed ? 2U : 1U;
  const auto lost = log.await(event_kind::lost);
  expect_claim(lost, "stock");
  EXPECT_EQ(lost->token, held.token());
  EXPECT_EQ(lost->loss, loss_reason::ended_at_store);
  EXPECT_EQ(lost->code, errc::lost);
  EXPECT_EQ(locks.statistics().lost_ended_at_store, 1U);
  EXPECT_EQ(locks.statistics().renewals, confirmed);
  EXPECT_EQ(locks.statistics().held(), 0U);
}

TEST_P(observed_clients, hear_of_the_end_of_a_lease_that_nobody_renews) {
  event_log log;
  client& locks = observed(log);
  auto held = mutex{locks, "stock", labelled().ttl(2s).renewal(false)}.acquire();
  const auto lost = log.await(event_kind::lost);
  expect_claim(lost, "stock");
  EXPECT_EQ(lost->loss, loss_reason::not_renewed);
  EXPECT_EQ(lost->ttl, 2s);
  EXPECT_EQ(locks.statistics().lost_not_renewed, 1U);
}

TEST_P(observed_clients, hear_of_what_their_end_ends_and_of_nothing_afterwards) {
  event_log log;
  client& locks = observed(log);
  auto held = mutex{locks, "stock", labelled()}.acquire();
  locks.close();
  const auto events = log.all();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, event_kind::lost);
  EXPECT_EQ(events.back().loss, loss_reason::client_closed);
  EXPECT_EQ(events.back().code, errc::closed);
  EXPECT_FALSE(held.held());
  EXPECT_EQ(locks.statistics().lost_client_closed, 1U);
  EXPECT_EQ(log.all().size(), events.size());
}

TEST_P(observed_clients, may_be_used_and_closed_by_their_observer) {
  event_log log;
  std::promise<void> closed;
  client* self = nullptr;
  std::promise<void> is_set;
  client& locks = open(client_options{}.observer([&, set = is_set.get_future().share()](const event& e) {
    if (e.kind != event_kind::granted) return;
    set.wait();
    EXPECT_FALSE(mutex(*self, "stock").try_acquire());
    self->close();
    closed.set_value();
  }));
  self = &locks;
  auto held = mutex{locks, "stock"}.acquire();
  is_set.set_value();
  EXPECT_EQ(closed.get_future().wait_for(100s), std::future_status::ready);
  EXPECT_EQ(locks.statistics().refused, 1U);
}

TEST_P(observed_clients, are_not_closed_for_anybody_while_their_observer_runs) {
  std::promise<void> inside;
  std::promise<void> leave;
  std::atomic<bool> runs = false;
  client& locks = open(client_options{}.observer([&](const event& e) {
    if (e.kind != event_kind::granted) return;
    runs = true;
    inside.set_value();
    leave.get_future().wait();
    runs = false;
  }));
  auto held = mutex{locks, "stock"}.acquire();
  inside.get_future().wait();
  const auto close = [&] {
    locks.close();
    return runs.load();
  };
  auto first = std::async(std::launch::async, close);
  auto second = std::async(std::launch::async, close);
  // Whichever comes second has time to return too early.
  (void)first.wait_for(100ms);
  (void)second.wait_for(100ms);
  leave.set_value();
  EXPECT_FALSE(first.get());
  EXPECT_FALSE(second.get());
}

TEST_P(observed_clients, count_without_an_observer_too) {
  auto held = mutex{one(), "stock"}.acquire();
  EXPECT_FALSE(mutex(one(), "stock").try_acquire());
  EXPECT_EQ(one().statistics().granted_exclusive, 1U);
  EXPECT_EQ(one().statistics().refused, 1U);
  EXPECT_EQ(one().statistics().held(), 1U);
  EXPECT_EQ(one().statistics().events_dropped, 0U);
}

HOLDFAST_ON_EACH_STORE(observed_clients, any_store);

}  // namespace
}  // namespace holdfast::contract
