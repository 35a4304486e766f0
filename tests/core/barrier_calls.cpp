// The calls of a barrier step by step: what they ask of the store, what they leave there.

#include <optional>
#include <variant>

#include "core/rendezvous_fixture.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::rendezvous;
using tickets::task;
using kind = store::attendance::kind;

class barrier_calls : public rendezvous_fixture {
 protected:
  lease_core::rendezvous_ptr party = object(rendezvous::type::barrier, 2);

  /// Until the party waits at phase 0.
  void arrive() {
    start(party);
    it.answer(tickets::reply{std::optional<lock_state>{}});
    it.answer(granted_at(7));
    it.answer(seen(2, {{kind::arrived, 0, party->party}}));
  }
};

TEST_F(barrier_calls, arrive_look_and_pass) {
  start(party);
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect}) << "which phase do the others wait for?";
  it.answer(seen(2, {{kind::passed, 4, id(8)}}));
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(attendance_at().stands_for, kind::arrived);
  EXPECT_EQ(attendance_at().phase, 5U);
  it.answer(granted_at(7));
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  it.answer(seen(2, {{kind::arrived, 5, party->party}}));
  it.time.run_for(1s);
  it.answer(seen(2, {{kind::arrived, 5, party->party}, {kind::arrived, 5, id(8)}}));
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(attendance_at().stands_for, kind::passed);
  EXPECT_EQ(attendance_at().phase, 5U);
  EXPECT_TRUE(results.empty()) << "it returns when others can see that it has passed";
  it.answer(granted_at(9));
  EXPECT_TRUE(is_complete());
  EXPECT_EQ(std::get<arrivals>(results.back()).phase, 5U);
  ASSERT_EQ(it.pending_tasks(), tasks{task::release});
  EXPECT_EQ(it.link.request().token, fencing_token{7}) << "its arrival";
  it.answer(tickets::reply{tickets::done{}});

  start(party);
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire}) << "it knows its phase";
  EXPECT_EQ(attendance_at().phase, 6U);
  it.answer(granted_at(10));
  EXPECT_EQ(it.pending_tasks(), (tasks{task::release, task::inspect}));
  EXPECT_EQ(it.link.request().token, fencing_token{9}) << "that it had passed";
}

TEST_F(barrier_calls, leave_what_shows_that_the_party_has_passed) {
  arrive();
  it.time.run_for(1s);
  it.answer(seen(2, {{kind::passed, 0, id(8)}, {kind::arrived, 0, party->party}}));
  it.answer(granted_at(9));
  it.answer(tickets::reply{tickets::done{}});
  it.time.turn([&] {
    calls.leave(party);
    calls.close();
    all.close();
  });
  it.time.run_for(60s);
  EXPECT_EQ(it.link.open(), 0U) << "neither renewed nor released";
}

TEST_F(barrier_calls, withdraw_an_arrival_that_nobody_waits_for_any_more) {
  arrive();
  it.time.turn([&] {
    calls.cancel(last);
    calls.leave(party);
  });
  EXPECT_EQ(it.pending_tasks(), tasks{task::release});
}

TEST_F(barrier_calls, go_on_waiting_with_the_next_call) {
  arrive();
  it.time.turn([&] { calls.cancel(last); });
  start(party);
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect}) << "it has arrived";
  it.answer(seen(2, {{kind::arrived, 0, party->party}, {kind::arrived, 0, id(8)}}));
  EXPECT_EQ(attendance_at().stands_for, kind::passed);
}

TEST_F(barrier_calls, tell_the_loss_of_an_arrival_and_join_anew) {
  party->phase = 3;
  party->has_joined = true;
  start(party);
  const owner_id owner = it.link.request().owner;
  it.answer(granted_at(7));
  it.answer(seen(2, {{kind::arrived, 3, party->party}}));
  it.notify(owner, revocation(7));
  ASSERT_EQ(it.pending_tasks(), tasks{task::renew});
  it.answer(tickets::reply{tickets::kept{{false}}});
  EXPECT_EQ(code(), errc::lost);
  ASSERT_EQ(it.pending_tasks(), tasks{task::release});
  it.answer(tickets::reply{tickets::nothing{}});
  start(party);
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  it.answer(tickets::reply{std::optional<lock_state>{}});
  EXPECT_EQ(attendance_at().phase, 3U) << "the store may have forgotten; the party has not";
}

// It was replaced, or came when the store had forgotten the others: they have not waited for it.
TEST_F(barrier_calls, join_again_where_the_others_are_two_phases_ahead) {
  arrive();
  it.time.run_for(1s);
  it.answer(seen(2, {{kind::arrived, 0, party->party}, {kind::arrived, 2, id(8)}}));
  EXPECT_TRUE(results.empty());
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(attendance_at().stands_for, kind::arrived);
  EXPECT_EQ(attendance_at().phase, 2U);
}

TEST_F(barrier_calls, arrive_again_where_that_has_failed) {
  arrive();
  it.time.run_for(1s);
  it.answer(seen(2, {{kind::arrived, 0, party->party}, {kind::arrived, 2, id(8)}}));
  it.answer(permanent);
  EXPECT_EQ(code(), errc::unavailable);
  start(party);
  ASSERT_EQ(it.pending_tasks().back(), task::acquire) << "the arrival that it has is of an earlier phase";
  EXPECT_EQ(attendance_at(it.link.open() - 1).phase, 2U);
}

TEST_F(barrier_calls, pass_with_the_next_call_where_the_store_did_not_confirm_it_in_time) {
  start(party, 0, true, 5s);
  it.answer(tickets::reply{std::optional<lock_state>{}});
  it.answer(granted_at(7));
  const tickets::reply both = seen(2, {{kind::arrived, 0, party->party}, {kind::arrived, 0, id(8)}});
  it.answer(both);
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(attendance_at().stands_for, kind::passed);
  it.time.run_for(8s);
  EXPECT_TRUE(results.empty()) << "an answer has as long as the retry policy says";
  it.time.run_for(2s);
  EXPECT_EQ(code(), errc::unknown_outcome);
  start(party, 0, true, 5s);
  while (it.pending_tasks().back() != task::inspect) it.answer(tickets::reply{tickets::kept{{true}}});
  it.answer(both, it.link.open() - 1);
  EXPECT_EQ(attendance_at(it.link.open() - 1).stands_for, kind::passed);
  it.answer(granted_at(9), it.link.open() - 1);
  ASSERT_TRUE(is_complete());
  EXPECT_EQ(std::get<arrivals>(results.back()).phase, 0U);
  EXPECT_EQ(party->phase, 1U);
}

TEST_F(barrier_calls, are_one_at_a_time) {
  arrive();
  start(party);
  EXPECT_EQ(code(), errc::invalid_argument);
  EXPECT_EQ(results.size(), 1U);
}

}  // namespace
}  // namespace holdfast
