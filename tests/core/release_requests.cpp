// SPDX-License-Identifier: Apache-2.0
// A request to release: the store notifies the holder's client, which inspects the name and reads the reason.

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "core/managed_leases.hpp"

namespace holdfast {
namespace {

using namespace test;

class release_requests : public managed_leases {
 protected:
  release_requests() {
    all.on_release_requested([this](const lease_record_ptr& lease) {
      EXPECT_TRUE(lease->release_request) << "it has the reason by then";
      requested.push_back(lease);
    });
  }
  /// As the store does after it has written a request to the hold of that owner.
  void notify(std::uint8_t owner = 1) {
    it.time.turn([&] { it.link.notify({id(owner), store::notification_kind::release_requested, {}}); });
  }
  static std::optional<lock_state> state_with(std::uint64_t token, std::optional<std::string> reason) {
    lock_state state;
    state.name = "stock";
    state.holders.emplace_back();
    state.holders[0].token = fencing_token{token};
    state.holders[0].claimant.release_request = std::move(reason);
    return state;
  }

  std::vector<lease_record_ptr> requested;
};

TEST_F(release_requests, are_read_after_a_notification) {
  const lease_record_ptr lease = hold();
  notify();
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  EXPECT_EQ(form_of(it.link.request()).name, "stock");
  EXPECT_EQ(form_of(it.link.request()).waiters_read, 0U);
  EXPECT_TRUE(requested.empty()) << "anybody may have sent the notification";
  it.answer(state_with(7, "deployment"));
  ASSERT_EQ(requested, std::vector{lease});
  EXPECT_EQ(*lease->release_request, "deployment");
  EXPECT_EQ(lease->state(), phase::held);

  notify();
  EXPECT_EQ(it.link.open(), 0U) << "the first request counts";
}

TEST_F(release_requests, are_none_where_the_store_has_none) {
  const lease_record_ptr lease = hold();
  notify();
  it.answer(state_with(7, std::nullopt));
  notify();
  it.answer(state_with(8, "for another"));
  notify();
  it.answer(std::optional<lock_state>{});
  EXPECT_TRUE(requested.empty());
  notify();
  it.answer(state_with(7, ""));
  ASSERT_EQ(requested, std::vector{lease});
  EXPECT_EQ(*lease->release_request, "");
}

TEST_F(release_requests, cost_one_inspection_however_many_notifications_come) {
  hold();
  for (int each = 0; each < 5; ++each) notify();
  EXPECT_EQ(it.pending_tasks(), tasks{task::inspect});
}

// The answer that is under way may be older than the request of which the next notification tells.
TEST_F(release_requests, that_come_during_an_inspection_are_read_after_it) {
  const lease_record_ptr lease = hold();
  notify();
  notify();
  notify();
  it.answer(state_with(7, std::nullopt));
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  it.answer(state_with(7, "deployment"));
  EXPECT_EQ(requested, std::vector{lease});
  EXPECT_EQ(it.link.open(), 0U);
}

// Others may go on with notifications for ever.
TEST_F(release_requests, are_taken_from_the_answer_that_has_them_though_more_notifications_have_come) {
  const lease_record_ptr lease = hold();
  notify();
  notify();
  it.answer(state_with(7, "deployment"));
  EXPECT_EQ(requested, std::vector{lease});
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(release_requests, are_for_the_holder_alone) {
  notify(2);
  EXPECT_EQ(it.link.open(), 0U);
  const lease_record_ptr lease = hold();
  notify();
  release(lease);
  it.answer(state_with(7, "too late"));
  EXPECT_TRUE(requested.empty());
  it.answer(tickets::done{});
  notify();
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(release_requests, wait_for_a_grant_that_is_on_its_way) {
  ask();
  notify();
  EXPECT_EQ(it.pending_tasks(), tasks{task::acquire});
  it.answer(granted_at(7));
  const auto lease = std::get<lease_record_ptr>(ends.back());
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  it.answer(state_with(7, "at once"));
  EXPECT_EQ(requested, std::vector{lease});
}

// The store has the hold, but it is not known whether the session that it belongs to still lives.
TEST_F(release_requests, wait_for_a_grant_that_is_in_doubt) {
  it.link.session = epoch + 1s;
  ask();
  it.time.run_for(2s);
  it.answer(granted_at(7));
  notify();
  EXPECT_EQ(it.link.open(), 0U) << "there is no lease yet";
  it.link.session = it.time.now() + 10s;
  it.time.run_for(1s);
  it.answer(granted_at(7));
  const auto lease = std::get<lease_record_ptr>(ends.at(0));
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  it.answer(state_with(7, "while in doubt"));
  EXPECT_EQ(requested, std::vector{lease});
}

TEST_F(release_requests, may_be_lost) {
  hold();
  notify();
  it.answer(store::request_error{{errc::unavailable, "gone"}, false, false});
  EXPECT_TRUE(requested.empty());
  EXPECT_EQ(it.link.open(), 0U);
  notify();
  EXPECT_EQ(it.pending_tasks(), tasks{task::inspect}) << "but another one is not";
}

}  // namespace
}  // namespace holdfast
