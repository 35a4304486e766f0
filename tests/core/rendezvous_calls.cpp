// The calls of a latch and a barrier step by step: what they ask of the store, what they leave there.

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/metadata.hpp"
#include "core/managed_leases.hpp"
#include "lease/rendezvous.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::rendezvous;
using tickets::task;
using kind = store::mark::kind;

class rendezvous_calls : public managed_leases {
 protected:
  rendezvous_calls() {
    also_on_loss = [this](const lease_record_ptr& lease) { calls.lost(lease); };
  }
  static lease_core::rendezvous_ptr object(rendezvous::type type, std::ptrdiff_t expected) {
    const auto at = std::make_shared<rendezvous>();
    at->kind = type;
    at->expected = expected;
    at->terms = {a_claim(), margin, true};
    at->terms.claim.mode = mode::permits;
    at->terms.claim.capacity = expected;
    return at;
  }
  void start(const lease_core::rendezvous_ptr& at, std::int64_t count = 0, bool waits = true,
             std::optional<duration> limit = {}) {
    it.time.turn([&] {
      lease_core::rendezvous_call call{count, waits, std::nullopt};
      if (limit) call.until = it.time.now() + *limit;
      last =
          calls.start(at, call, [this](lease_core::arrived result) { results.push_back(std::move(result)); });
    });
  }
  /// The mark of a claim that is asked for.
  [[nodiscard]] store::mark mark_at(std::size_t which = 0) const {
    return store::mark_in(from_metadata(*it.link.request(which).metadata).value.value()).value();
  }
  [[nodiscard]] static tickets::reply seen(std::ptrdiff_t capacity, const std::vector<store::mark>& marks) {
    lock_state s;
    s.capacity = capacity;
    for (const store::mark& each : marks) {
      claim_state c;
      c.mode = mode::permits;
      c.permits = 1;
      c.claimant.value = store::to_value(each);
      s.holders.push_back(c);
    }
    return std::optional{s};
  }
  [[nodiscard]] std::error_code code() const {
    const auto* const failed = results.empty() ? nullptr : std::get_if<failure>(&results.back());
    return failed == nullptr ? std::error_code{} : failed->code;
  }
  [[nodiscard]] bool is_complete() const {
    const auto* const seen = results.empty() ? nullptr : std::get_if<arrivals>(&results.back());
    return seen != nullptr && seen->is_complete();
  }

  lease_core::rendezvous_calls calls{it.time, it.port, all};
  std::vector<lease_core::arrived> results;
  lease_core::rendezvous_calls::call_id last = 0;
};

class latch_calls : public rendezvous_calls {
 protected:
  lease_core::rendezvous_ptr latch = object(rendezvous::type::latch, 3);
};
class barrier_calls : public rendezvous_calls {
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

TEST_F(latch_calls, claim_permits_without_a_place_in_the_queue) {
  start(latch, 2, false);
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(it.link.request().weight, 2);
  EXPECT_EQ(it.link.request().capacity, 3);
  EXPECT_FALSE(it.link.request().wait);
  EXPECT_EQ(mark_at().stands_for, kind::counted);
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
  const auto first = mark_at().party;
  it.answer(permanent_maybe_executed);
  EXPECT_EQ(code(), errc::unknown_outcome);
  it.answer(tickets::reply{tickets::done{}});  // withdrawn
  start(latch, 1, false);
  EXPECT_EQ(mark_at().party, first);
  it.answer(granted_at(8));
  start(latch, 1, false);
  EXPECT_NE(mark_at().party, first) << "the next count is another one";
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
TEST_F(latch_calls, report_a_silent_store_a_second_after_the_limit) {
  start(latch, 0, true, 3s);
  it.time.run_for(3s);
  EXPECT_TRUE(results.empty());
  it.time.run_for(1s);
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

TEST_F(barrier_calls, arrive_look_and_pass) {
  start(party);
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect}) << "which phase do the others wait for?";
  it.answer(seen(2, {{kind::passed, 4, id(8)}}));
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(mark_at().stands_for, kind::arrived);
  EXPECT_EQ(mark_at().phase, 5U);
  it.answer(granted_at(7));
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  it.answer(seen(2, {{kind::arrived, 5, party->party}}));
  it.time.run_for(1s);
  it.answer(seen(2, {{kind::arrived, 5, party->party}, {kind::arrived, 5, id(8)}}));
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(mark_at().stands_for, kind::passed);
  EXPECT_EQ(mark_at().phase, 5U);
  EXPECT_TRUE(results.empty()) << "it returns when others can see that it has passed";
  it.answer(granted_at(9));
  EXPECT_TRUE(is_complete());
  EXPECT_EQ(std::get<arrivals>(results.back()).phase, 5U);
  ASSERT_EQ(it.pending_tasks(), tasks{task::release});
  EXPECT_EQ(it.link.request().token, fencing_token{7}) << "its arrival";
  it.answer(tickets::reply{tickets::done{}});

  start(party);
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire}) << "it knows its phase";
  EXPECT_EQ(mark_at().phase, 6U);
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
  EXPECT_EQ(mark_at().stands_for, kind::passed);
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
  EXPECT_EQ(mark_at().phase, 3U) << "the store may have forgotten; the party has not";
}

// It was replaced, or came when the store had forgotten the others: they have not waited for it.
TEST_F(barrier_calls, join_again_where_the_others_are_two_phases_ahead) {
  arrive();
  it.time.run_for(1s);
  it.answer(seen(2, {{kind::arrived, 0, party->party}, {kind::arrived, 2, id(8)}}));
  EXPECT_TRUE(results.empty());
  ASSERT_EQ(it.pending_tasks(), tasks{task::acquire});
  EXPECT_EQ(mark_at().stands_for, kind::arrived);
  EXPECT_EQ(mark_at().phase, 2U);
}

TEST_F(barrier_calls, are_one_at_a_time) {
  arrive();
  start(party);
  EXPECT_EQ(code(), errc::invalid_argument);
  EXPECT_EQ(results.size(), 1U);
}

}  // namespace
}  // namespace holdfast
