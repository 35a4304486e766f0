// The calls of a latch step by step: what they ask of the store, what they leave there.

#include <optional>
#include <set>

#include "core/rendezvous_fixture.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::rendezvous;
using tickets::task;
using kind = store::attendance::kind;

class latch_calls : public rendezvous_fixture {
 protected:
  /// Starts a call that counts, which `fails`. The next one has to be the same count.
  template <class Function>
  void expect_same_count_after(Function fails) {
    start(latch, 1, false);
    const auto first = attendance_at(it.link.open() - 1).party;
    fails();
    EXPECT_TRUE(code());
    start(latch, 1, false);
    EXPECT_EQ(attendance_at(it.link.open() - 1).party, first);
    it.answer(granted_at(8), it.link.open() - 1);
    EXPECT_FALSE(code());
  }

  lease_core::rendezvous_ptr latch = object(rendezvous::type::latch, 3);
};

TEST_F(latch_calls, claim_permits_without_a_place_in_the_queue) {
  start(latch, 2, false);
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(it.link.request().weight, 2);
  EXPECT_EQ(it.link.request().capacity, 3);
  EXPECT_FALSE(it.link.request().wait);
  EXPECT_EQ(attendance_at().stands_for, kind::counted);
  it.answer(granted_at(7));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_FALSE(code());
  EXPECT_EQ(it.link.open(), 0U) << "it does not look at the others";
}

TEST_F(latch_calls, leave_the_count_when_the_client_ends) {
  start(latch, 1, false);
  it.answer(granted_at(7));
  it.time.turn([&] {
    calls.close();
    all.close();
  });
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(latch_calls, renew_the_count_until_the_object_ends) {
  start(latch, 1, false);
  it.answer(granted_at(7));
  it.time.run_for(10s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  it.answer(tickets::reply{tickets::kept{{true}}});
  it.time.turn([&] { calls.leave(latch); });
  it.time.run_for(60s);
  EXPECT_EQ(it.link.open(), 0U) << "neither renewed nor released";
  EXPECT_TRUE(losses.empty());
}

class latch_calls_in_a_session : public latch_calls {
 protected:
  latch_calls_in_a_session() { it.link.session = it.time.now() + 1h; }
  /// The ttl that the store is told with the last renewal.
  [[nodiscard]] duration left() const {
    EXPECT_EQ(it.pending_tasks(), tasks{task::renew});
    EXPECT_TRUE(it.link.request().is_last);
    return it.link.request().batch.at(0).ttl;
  }
};

TEST_F(latch_calls_in_a_session, say_that_a_count_stays) {
  start(latch, 1, false);
  EXPECT_TRUE(it.link.request().stays);
  EXPECT_TRUE(it.link.request().may_rest);
  EXPECT_TRUE(it.link.request().insists);
}

TEST_F(latch_calls_in_a_session, leave_what_is_left_of_the_ttl_when_the_object_ends) {
  start(latch, 1, false);
  it.answer(granted_at(7));
  it.time.run_for(4s);
  it.time.turn([&] { calls.leave(latch); });
  EXPECT_EQ(left(), 26s);
}

TEST_F(latch_calls_in_a_session, leave_what_is_left_of_the_ttl_when_the_client_ends) {
  start(latch, 1, false);
  it.answer(granted_at(7));
  it.time.run_for(4s);
  it.time.turn([&] {
    calls.close();
    all.close();
  });
  EXPECT_EQ(left(), 26s);
}

TEST_F(latch_calls_in_a_session, end_a_count_that_is_not_renewed_with_its_ttl) {
  latch->terms.renews = false;
  start(latch, 1, false);
  it.answer(granted_at(7));
  it.time.run_for(31s);
  EXPECT_EQ(losses.size(), 1U);
  EXPECT_LE(left(), margin + 1ms);
}

TEST_F(latch_calls_in_a_session, leave_a_count_that_has_ended_with_the_session_to_the_store) {
  start(latch, 1, false);
  const owner_id owner = it.link.request().owner;
  it.answer(granted_at(7));
  it.notify(owner, revocation(7));
  it.answer(tickets::reply{tickets::kept{{false}}});
  EXPECT_EQ(losses.size(), 1U);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(latch_calls_in_a_session, take_permits_without_a_known_capacity_for_their_own) {
  start(latch);
  it.answer(seen(0, {{kind::counted, 0, id(8)}}));
  EXPECT_FALSE(code()) << "whoever held them all has ended, and the store has forgotten their capacity";
  it.time.run_for(1s);
  it.answer(seen(2, {{kind::counted, 0, id(8)}}));
  EXPECT_EQ(code(), errc::wrong_type);
}

TEST_F(latch_calls, do_not_release_a_count_that_was_lost) {
  latch->terms.renews = false;
  start(latch, 1, false);
  it.answer(granted_at(7));
  it.time.run_for(31s);
  EXPECT_EQ(losses.size(), 1U);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(latch_calls, try_a_count_again_like_a_claim_that_waits) {
  start(latch, 1, false);
  it.answer(retryable);
  it.time.run_for(1s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  it.answer(tickets::reply{tickets::paused{{errc::unavailable, "it may have forgotten grants"}}});
  it.time.run_for(1s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  it.answer(retryable_maybe_executed);
  it.time.run_for(1s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::find});
  it.answer(granted_at(7));
  ASSERT_EQ(it.pending_tasks(), tasks{task::look});
  it.answer(granted_at(7));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_FALSE(code());
}

TEST_F(latch_calls, count_once_after_an_unknown_outcome) {
  start(latch, 1, false);
  const auto first = attendance_at().party;
  it.answer(permanent_maybe_executed);
  EXPECT_EQ(code(), errc::unknown_outcome);
  it.answer(tickets::reply{tickets::done{}});  // withdrawn
  start(latch, 1, false);
  EXPECT_EQ(attendance_at().party, first);
  it.answer(granted_at(8));
  start(latch, 1, false);
  EXPECT_NE(attendance_at().party, first) << "the next count is another one";
}

TEST_F(latch_calls, count_once_after_a_limit_without_an_answer) {
  start(latch, 1, false, 2s);
  const auto first = attendance_at().party;
  it.time.run_for(9s);
  EXPECT_TRUE(results.empty()) << "an answer has as long as the retry policy says";
  it.time.run_for(1s);
  EXPECT_EQ(code(), errc::unknown_outcome);
  start(latch, 1, false, 2s);
  EXPECT_EQ(attendance_at(1).party, first);
}

TEST_F(latch_calls, count_once_after_each_failure_that_may_have_counted) {
  latch->terms.renews = false;
  {
    SCOPED_TRACE("cancelled");
    expect_same_count_after([&] { it.time.turn([&] { calls.cancel(last); }); });
  }
  {
    SCOPED_TRACE("without an answer to a second request");
    expect_same_count_after([&] {
      it.answer(retryable_maybe_executed, it.link.open() - 1);
      it.time.run_for(11s);
    });
  }
  {
    SCOPED_TRACE("granted, and not confirmed by a look");
    expect_same_count_after([&] {
      it.answer(retryable_maybe_executed, it.link.open() - 1);
      it.time.run_for(1s);
      it.answer(granted_at(7), it.link.open() - 1);
      ASSERT_EQ(it.pending_tasks().back(), task::look);
      it.answer(permanent, it.link.open() - 1);
      EXPECT_EQ(code(), errc::unknown_outcome);
    });
  }
  latch->terms.claim.ttl = 5s;
  SCOPED_TRACE("granted after its deadline");
  expect_same_count_after([&] {
    it.time.run_for(3s);
    it.answer(granted_at(7), it.link.open() - 1);
    ASSERT_EQ(it.pending_tasks().back(), task::look);
    it.time.run_for(6s);
    it.answer(granted_at(7), it.link.open() - 1);
    EXPECT_EQ(code(), errc::lost);
  });
}

TEST_F(latch_calls, count_once_after_failures_of_several_calls) {
  start(latch, 1, false);
  start(latch, 1, false);
  const std::set both{attendance_at(0).party, attendance_at(1).party};
  it.answer(permanent_maybe_executed);
  it.answer(permanent_maybe_executed);
  while (it.link.open() != 0) it.answer(tickets::reply{tickets::done{}});  // withdrawn
  start(latch, 1, false);
  start(latch, 1, false);
  EXPECT_EQ((std::set{attendance_at(0).party, attendance_at(1).party}), both);
}

TEST_F(latch_calls, tell_the_loss_of_a_count_until_the_object_counts_anew) {
  latch->terms.renews = false;
  start(latch, 1, false);
  const auto first = attendance_at().party;
  it.answer(granted_at(7));
  start(latch);
  for (int each = 0; each < 31 && losses.empty(); ++each) {
    while (it.link.open() != 0) it.answer(tickets::reply{std::optional<lock_state>{}});
    it.time.run_for(1s);
  }
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(code(), errc::lost) << "the wait of another call, too";
  while (it.link.open() != 0) it.answer(tickets::reply{std::optional<lock_state>{}});
  start(latch);
  it.answer(tickets::reply{std::optional<lock_state>{}});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(code(), errc::lost);
  start(latch);
  it.answer(seen(3, {{kind::counted, 0, id(8)}, {kind::counted, 0, id(9)}, {kind::counted, 0, id(10)}}));
  EXPECT_TRUE(is_complete()) << "others have counted in its place";
  start(latch, 1);
  EXPECT_EQ(attendance_at().party, first);
  it.answer(granted_at(8));
  it.answer(tickets::reply{std::optional<lock_state>{}});
  EXPECT_EQ(results.size(), 4U) << "it waits";
}

TEST_F(latch_calls, say_why_a_count_is_refused) {
  start(latch, 2, false);
  it.answer(tickets::reply{tickets::refused{}});
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  it.answer(seen(3, {{kind::counted, 0, id(8)}, {kind::counted, 0, id(9)}}));
  EXPECT_EQ(code(), errc::invalid_argument);
  start(latch, 1, false);
  it.answer(tickets::reply{tickets::refused{}});
  it.answer(seen(3, {{kind::counted, 0, id(8)}, {kind::counted, 0, id(8)}, {kind::counted, 0, id(9)}}));
  EXPECT_EQ(code(), errc::unavailable) << "one of them is withdrawn soon";
}

// An earlier try of the refused claim may still be on its way to the store, and be carried out there.
TEST_F(latch_calls, count_once_with_a_refused_count_that_is_carried_out_late) {
  start(latch, 1, false);
  const auto same = attendance_at().party;
  it.answer(tickets::reply{tickets::refused{}});
  it.answer(seen(3, {{kind::counted, 0, id(8)}, {kind::counted, 0, id(9)}, {kind::counted, 0, id(10)}}));
  EXPECT_EQ(code(), errc::invalid_argument);
  start(latch, 1, false);
  EXPECT_EQ(attendance_at().party, same);
}

TEST_F(latch_calls, know_an_earlier_claim_of_a_count_that_is_refused) {
  for (const bool is_there : {true, false}) {
    start(latch, 1, false);
    const auto same = attendance_at().party;
    it.answer(permanent_maybe_executed);
    it.answer(tickets::reply{tickets::done{}});
    start(latch, 1, false);
    EXPECT_EQ(attendance_at().party, same);
    it.answer(tickets::reply{tickets::refused{}});
    const auto third = is_there ? same : id(10);
    it.answer(seen(3, {{kind::counted, 0, id(8)}, {kind::counted, 0, id(9)}, {kind::counted, 0, third}}));
    EXPECT_EQ(code(), is_there ? errc::unavailable : errc::invalid_argument) << "it takes its own place";
  }
}

TEST_F(latch_calls, look_again_after_each_change_until_it_is_open) {
  start(latch);
  it.answer(seen(3, {{kind::counted, 0, id(8)}}));
  EXPECT_TRUE(results.empty());
  it.time.run_for(2s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect}) << "at least once a second";
  it.answer(seen(3, {{kind::counted, 0, id(8)}, {kind::counted, 0, id(9)}, {kind::counted, 0, id(10)}}));
  EXPECT_TRUE(is_complete());
  it.time.run_for(10s);
  EXPECT_EQ(it.link.open(), 0U);
  EXPECT_EQ(it.time.timers(), 0U);
}

TEST_F(latch_calls, end_at_their_limit) {
  start(latch, 0, true, 5s);
  it.answer(tickets::reply{std::optional<lock_state>{}});
  it.time.run_for(900ms);
  for (int each = 0; each < 5 && results.empty(); ++each) {
    it.time.run_for(1s);
    if (it.link.open() != 0) it.answer(tickets::reply{std::optional<lock_state>{}});
  }
  ASSERT_EQ(results.size(), 1U);
  EXPECT_FALSE(code());
  EXPECT_FALSE(is_complete());
}

// The limit says that somebody is missing only where the store has said so.
TEST_F(latch_calls, report_a_silent_store_when_the_retry_limit_is_over) {
  start(latch, 0, true, 3s);
  it.time.run_for(9s);
  EXPECT_TRUE(results.empty());
  it.time.run_for(4s);
  EXPECT_EQ(code(), errc::unavailable);
  latch->terms.claim.retry.limit(duration::zero());
  start(latch, 0, true, duration::zero());
  it.time.run_for(900ms);
  EXPECT_EQ(results.size(), 1U) << "an answer has a second at least";
  it.time.run_for(1s);
  EXPECT_EQ(results.size(), 2U);
  EXPECT_EQ(code(), errc::unavailable);
}

TEST_F(latch_calls, are_refused_where_another_number_is_expected) {
  start(latch);
  it.answer(seen(4, {{kind::counted, 0, id(8)}}));
  EXPECT_EQ(code(), errc::wrong_type);
}

TEST_F(latch_calls, are_cancelled) {
  start(latch, 1);
  it.time.turn([&] { calls.cancel(last); });
  EXPECT_EQ(code(), errc::cancelled);
  it.answer(granted_at(7));
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw}) << "a count that comes late";
}

}  // namespace
}  // namespace holdfast
