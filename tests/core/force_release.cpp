// SPDX-License-Identifier: Apache-2.0
// Ending holds by force: those that are there when first asked, and none that is granted later.

#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "core/questions.hpp"
#include "core/runner_fixture.hpp"
#include "stores/memory/link/table.hpp"

namespace holdfast {
namespace {

using namespace test;

class force_release : public testing::Test {
 protected:
  void force(std::optional<fencing_token> token = {}) {
    it.time.turn([&] {
      it.port.force_release("stock", token, epoch + 10s, [this](store::forced f) { ends.push_back(f); });
    });
  }
  /// Holders with these tokens, and one waiter.
  static tickets::reply held_with(const std::vector<std::uint64_t>& tokens) {
    lock_state state;
    state.name = "stock";
    for (const std::uint64_t token : tokens) state.holders.emplace_back().token = fencing_token{token};
    state.waiters.emplace_back().token = fencing_token{90};
    return std::optional{state};
  }
  [[nodiscard]] std::optional<std::size_t> count() const {
    const auto* ended = ends.empty() ? nullptr : std::get_if<std::size_t>(&ends.back());
    return ended == nullptr ? std::nullopt : std::optional{*ended};
  }

  runner_fixture it;
  std::vector<store::forced> ends;
};

TEST_F(force_release, ends_the_holds_that_it_has_seen) {
  force();
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  it.answer(held_with({7, 8}));
  ASSERT_EQ(it.pending_tasks(), tasks{task::force_release});
  EXPECT_EQ(form_of(it.link.request()).token, fencing_token{7});
  EXPECT_EQ(form_of(it.link.request()).last, fencing_token{8});
  it.answer(tickets::count{2});
  EXPECT_EQ(count(), 2U);
  EXPECT_EQ(it.port.busy(), 0U);
}

/// A reader or permit that is granted later may have drawn its token earlier.
TEST_F(force_release, names_no_token_between_those_of_the_holds_that_it_has_seen) {
  force();
  it.answer(held_with({12, 7, 9, 8}));  // in any order
  ASSERT_EQ(it.pending_tasks(), tasks{task::force_release});
  EXPECT_EQ(form_of(it.link.request()).token, fencing_token{7});
  EXPECT_EQ(form_of(it.link.request()).last, fencing_token{9});
  it.answer(retryable_maybe_executed);
  it.time.run_for(1s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::force_release});
  EXPECT_EQ(form_of(it.link.request()).last, fencing_token{9});
  it.answer(tickets::count{3});
  ASSERT_EQ(it.pending_tasks(), tasks{task::force_release});
  EXPECT_EQ(form_of(it.link.request()).token, fencing_token{12});
  EXPECT_EQ(form_of(it.link.request()).last, fencing_token{12});
  EXPECT_EQ(count(), std::nullopt);
  it.answer(tickets::count{1});
  EXPECT_EQ(count(), 4U);
  EXPECT_EQ(it.port.busy(), 0U);
}

TEST_F(force_release, counts_what_each_request_ended) {
  force();
  it.answer(held_with({7, 9, 20}));
  it.answer(tickets::count{1});
  it.answer(tickets::count{0});  // it was released meanwhile
  it.answer(tickets::count{1});
  EXPECT_EQ(count(), 2U);
}

TEST_F(force_release, lets_a_store_without_living_holders_hand_the_name_on) {
  force();
  it.answer(held_with({}));
  ASSERT_EQ(it.pending_tasks(), tasks{task::force_release});
  EXPECT_EQ(form_of(it.link.request()).last, fencing_token{});
  it.answer(tickets::count{0});
  EXPECT_EQ(count(), 0U);
}

TEST_F(force_release, that_is_refused_after_a_part_says_why_and_how_many_it_has_ended) {
  force();
  it.answer(held_with({7, 9}));
  it.answer(tickets::count{1});
  it.answer(permanent);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(std::get<failure>(ends[0]).code, permanent.reason.code);
  EXPECT_THAT(std::get<failure>(ends[0]).message, testing::HasSubstr("of the holds before it 1 ended"));
}

TEST_F(force_release, repeated_ends_no_hold_that_was_granted_meanwhile) {
  force();
  it.answer(held_with({7}));
  it.answer(retryable_maybe_executed);
  it.time.run_for(1s);
  ASSERT_EQ(it.pending_tasks(), tasks{task::force_release});
  EXPECT_EQ(form_of(it.link.request()).last, fencing_token{7});
  it.answer(tickets::count{0});
  EXPECT_EQ(count(), 1U) << "the first request has ended it";
}

TEST_F(force_release, ends_one_holder_by_its_token) {
  force(fencing_token{8});
  it.answer(held_with({7, 8, 9}));
  ASSERT_EQ(it.pending_tasks(), tasks{task::force_release});
  EXPECT_EQ(form_of(it.link.request()).token, fencing_token{8});
  EXPECT_EQ(form_of(it.link.request()).last, fencing_token{8});
  it.answer(tickets::count{1});
  EXPECT_EQ(count(), 1U);
}

TEST_F(force_release, writes_nothing_where_nobody_holds_with_that_token) {
  for (const std::uint64_t token : {8, 90}) {  // 90 waits
    force(fencing_token{token});
    it.answer(held_with({7}));
    EXPECT_EQ(count(), 0U);
  }
  force();
  it.answer(tickets::reply{std::optional<lock_state>{}});
  EXPECT_EQ(count(), 0U);
  EXPECT_EQ(it.link.sent(), 3U);
}

TEST_F(force_release, says_that_it_may_have_ended_them) {
  force();
  it.answer(held_with({7}));
  it.time.run_for(1h);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(std::get<failure>(ends[0]).code, errc::unknown_outcome);
}

TEST_F(force_release, says_that_it_could_not_look) {
  force();
  it.answer(permanent);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(std::get<failure>(ends[0]).code, errc::unavailable);
}

/// The lost reply at a store that serves: the next holder is innocent.
TEST(force_release_at_a_store, carried_out_twice_leaves_the_next_holder) {
  memory::table table;
  std::vector<store::client_notification> notifications;
  const auto carry_out = [&](const tickets::request& r) {
    return table.carry_out(r, id(200), store::time_point{1h}, 1, notifications);
  };
  const auto claim = [&](std::uint8_t owner) {
    request_form r;
    r.kind = task::acquire;
    r.name = "stock";
    r.owner = id(owner);
    r.weight = r.capacity = store::full_capacity;
    r.ttl = 30s;
    r.wait = true;
    return std::get<tickets::place>(carry_out(r)).token;
  };
  const auto first = claim(1);
  const auto second = claim(2);
  lock_state seen;
  seen.holders.emplace_back().token = first;
  const auto repeated = tickets::forcing::of("stock", seen, first)->next({});
  EXPECT_EQ(std::get<tickets::count>(carry_out(repeated)).value, 1U);
  EXPECT_EQ(std::get<tickets::count>(carry_out(repeated)).value, 0U);
  const auto renewal =
      tickets::renewing{{}, {{"stock", id(2), second, 30s}}, store::time_point::max()}.next({});
  EXPECT_EQ(std::get<tickets::kept>(carry_out(renewal)).each, std::vector{true});
}

}  // namespace
}  // namespace holdfast
