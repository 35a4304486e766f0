// SPDX-License-Identifier: Apache-2.0
// Requests that nobody waits for any more before anything of them has left: they were surely not carried out.

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/managed_leases.hpp"

namespace holdfast {
namespace {

using namespace test;

const failure no_connection{errc::unavailable, "redis://nowhere: no connection within 2000 ms"};

class unsent_requests : public managed_leases {
 protected:
  [[nodiscard]] const failure& error_at_end() const { return std::get<failure>(ends.back()); }
  /// Asks a holder to release.
  void request_release() {
    it.time.turn([&] {
      it.port.request_release("stock", std::nullopt, "a deployment", it.time.now() + 2s,
                              [this](store::notified n) { notified = std::move(n); });
    });
  }
  [[nodiscard]] const failure& error_of_request() const { return std::get<failure>(notified.value()); }

  std::optional<store::notified> notified;
};

TEST_F(unsent_requests, of_a_claim_are_known_to_be_in_vain_at_the_end_of_its_limit) {
  it.link.unsent = no_connection;
  ask(a_claim(), it.time.now() + 2s);
  it.time.run_for(2s);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(error_at_end().code, errc::unavailable);
  EXPECT_EQ(error_at_end().message, no_connection.message);
  EXPECT_EQ(it.link.open(), 0U) << "it must not be sent later";
  it.time.run_for(1h);
  EXPECT_EQ(it.link.sent(), 1U) << "nothing of it is at the store";
}

TEST_F(unsent_requests, are_told_from_those_that_were_sent) {
  ask(a_claim(), it.time.now() + 2s);
  it.time.run_for(2s);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(error_at_end().code, errc::unknown_outcome);
  it.answer(granted_at(7));
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
}

TEST_F(unsent_requests, do_not_settle_an_earlier_try) {
  ask(a_claim(), it.time.now() + 2s);
  it.answer(retryable_maybe_executed);
  it.time.run_until(it.time.next_timer());
  ASSERT_EQ(it.pending_tasks(), tasks{task::find});
  it.link.unsent = no_connection;
  it.time.run_for(2s);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(error_at_end().code, errc::unknown_outcome);
  it.link.unsent.reset();
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
}

TEST_F(unsent_requests, of_a_claim_in_the_queue_leave_it_there) {
  ask(a_claim(), it.time.now() + 20s);
  it.answer(waiting_at(7));
  it.time.run_for(15s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::look});
  it.link.unsent = no_connection;
  it.time.run_for(5s);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(error_at_end().code, errc::unknown_outcome) << "others may grant it";
  it.link.unsent.reset();
  EXPECT_EQ(it.pending_tasks(), tasks{task::withdraw});
}

TEST_F(unsent_requests, do_not_change_what_the_store_has_said) {
  ask(a_claim(), it.time.now() + 10s + 500ms);
  it.answer(waiting_at(7));
  it.link.unsent = no_connection;
  it.time.run_for(10s + 500ms);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_TRUE(not_had_at_end()) << "the look is half a second old, and others hold";
}

TEST_F(unsent_requests, end_a_claim_without_a_limit_when_its_patience_ends) {
  it.link.unsent = no_connection;
  store::claim wanted = a_claim();
  wanted.retry.limit(3s);
  ask(wanted);
  it.time.run_for(3s);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(error_at_end().code, errc::unavailable);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(unsent_requests, say_less_than_the_error_of_an_earlier_try) {
  ask(a_claim(), it.time.now() + 2s);
  it.answer(store::request_error{{errc::exhausted, "the disk is full"}, true});
  it.link.unsent = no_connection;
  it.time.run_for(2s);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(error_at_end().code, errc::exhausted);
  EXPECT_EQ(error_at_end().message, "the disk is full");

  it.link.unsent.reset();
  request_release();
  it.answer(store::request_error{{errc::exhausted, "the disk is full"}, true});
  it.link.unsent = no_connection;
  it.time.run_for(2s);
  ASSERT_TRUE(notified);
  EXPECT_EQ(error_of_request().message, "the disk is full");
}

TEST_F(unsent_requests, leave_a_candidate_in_its_election) {
  store::claim candidate = a_claim();
  candidate.election = true;
  candidate.retry.limit(3s);
  ask(candidate);
  it.answer(waiting_at(7));
  it.time.run_for(10s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::look});
  it.link.unsent = no_connection;
  it.time.run_for(1h);
  EXPECT_TRUE(ends.empty());
  it.link.unsent.reset();
  while (it.link.open() == 0) it.time.run_until(it.time.next_timer());
  it.answer(granted_at(7));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<lease_record_ptr>(ends.back()));
}

TEST_F(unsent_requests, of_a_joint_try_are_in_vain_for_each_of_its_names) {
  it.link.is_joining = true;
  it.link.unsent = no_connection;
  it.time.turn([&] {
    all.together([&] {
      for (const std::uint8_t owner : {1, 2}) {
        store::claim each = a_claim(owner);
        each.name = owner == 1 ? "a" : "b";
        each.wait = false;
        each.retry.limit(3s);
        all.acquire(std::make_shared<const store::claim>(each), std::nullopt,
                    [this](taken t) { ends.push_back(std::move(t)); });
      }
    });
  });
  EXPECT_EQ(it.link.open(), 1U);
  it.time.run_for(3s);
  ASSERT_EQ(ends.size(), 2U);
  for (const taken& each : ends) EXPECT_EQ(std::get<failure>(each).code, errc::unavailable);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(unsent_requests, that_change_something_have_changed_nothing) {
  it.link.unsent = no_connection;
  request_release();
  it.time.run_for(2s);
  ASSERT_TRUE(notified);
  EXPECT_EQ(error_of_request().code, errc::unavailable);
  EXPECT_EQ(error_of_request().message, no_connection.message);
  EXPECT_EQ(it.link.open(), 0U) << "it must not be sent later";

  notified.reset();
  request_release();
  it.answer(retryable_maybe_executed);
  it.time.run_for(2s);
  ASSERT_TRUE(notified);
  EXPECT_EQ(error_of_request().code, errc::unknown_outcome) << "of the first try";
}

}  // namespace
}  // namespace holdfast
