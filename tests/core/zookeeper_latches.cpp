// What latches and barriers need of permits: some stay for their ttl after the session, none is shown as what
// it is not, and one look shows what holds at one moment.

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <variant>

#include "base/metadata.hpp"
#include "core/arrivals.hpp"
#include "core/zookeeper_rests.hpp"

namespace holdfast::zookeeper {
namespace {

class zookeeper_latches : public zookeeper_rests {
 protected:
  zookeeper_latches() {
    want_permits(1, 3);
    stays_ = true;
    insists_ = true;
    waits_ = false;
    stand_for(store::attendance::kind::counted, 0);
  }
  void stand_for(store::attendance::kind kind, std::uint64_t phase) {
    claimant self;
    self.value = store::to_value({kind, phase, owner(9)});
    metadata_ = std::make_shared<const std::string>(to_metadata(self));
  }
  void count(std::size_t number) { claim_served(number, 0s, true); }
  void renew_served(std::size_t number) {
    tickets::request r;
    r.kind = tickets::task::renew;
    r.batch.push_back({"stock", owner(number), fencing_token{1}, 30s});
    session_.send(r, [this](outcome o) { renewed_ = std::move(o); });
    wire_.serve(session_);
  }
  /// With the leases of all claims.
  void session_ends() {
    const auto all = wire_.all.at("/stock/leases").children;
    for (const std::string& each : all) wire_.remove("/stock/leases/" + each);
    session_.expired();
    wire_.lose_all();
    wire_.begin_session(other_session);
    session_.connected(other_session, 10s, time_.now());
    wire_.serve(session_);
  }
  [[nodiscard]] std::int64_t permits_shown() {
    std::int64_t all = 0;
    for (const claim_state& each : inspect().holders) all += each.permits;
    return all;
  }
  [[nodiscard]] std::string lease() const { return "/stock/leases/" + *leases_node().children.begin(); }
  [[nodiscard]] const tree::node& leases_node() const { return wire_.all.at("/stock/leases"); }
};

TEST_F(zookeeper_latches, keep_a_count_for_its_ttl_after_the_session_though_nobody_comes) {
  count(0);
  ASSERT_TRUE(is_granted(0));
  EXPECT_EQ(permits_shown(), 1) << "once, although it has a mark as well";
  session_ends();
  EXPECT_EQ(permits_shown(), 1);
  const auto seen = inspect();
  ASSERT_TRUE(seen.holders[0].claimant.value);
  EXPECT_TRUE(store::attendance_in(*seen.holders[0].claimant.value)) << "it says what it stands for";
  let_pass(29900ms);
  EXPECT_EQ(permits_shown(), 1);
  let_pass(200ms);
  EXPECT_EQ(permits_shown(), 0);
}

TEST_F(zookeeper_latches, count_the_ttl_from_the_last_renewal) {
  count(0);
  let_pass(20s);
  renew_served(0);
  EXPECT_EQ(kept(), std::vector{true});
  session_ends();
  let_pass(29900ms);
  EXPECT_EQ(permits_shown(), 1);
  let_pass(200ms);
  EXPECT_EQ(permits_shown(), 0);
}

TEST_F(zookeeper_latches, count_the_ttl_by_the_clock_of_the_servers) {
  wire_.now_ms -= 3'600'000;
  count(0);
  session_ends();
  EXPECT_EQ(permits_shown(), 1) << "by this computer's clock it was over long ago";
}

TEST_F(zookeeper_latches, count_the_ttl_by_their_own_clock_where_they_may_not_write) {
  wire_.now_ms -= 3'600'000;
  count(0);
  session_ends();
  wire_.unwritable.insert("/stock/rests%");
  EXPECT_EQ(permits_shown(), 0) << "by this computer's clock it was over long ago";
}

TEST_F(zookeeper_latches, whose_mark_cannot_be_written_leave_other_holds_renewed) {
  count(0);
  const std::string mark = "/stock/rests%/" + *wire_.all.at("/stock/rests%").children.begin();
  count(1);
  wire_.unwritable.insert(mark);
  tickets::request r;
  r.kind = tickets::task::renew;
  for (const std::size_t each : {0, 1}) r.batch.push_back({"stock", owner(each), fencing_token{1}, 30s});
  session_.send(r, [this](outcome o) { renewed_ = std::move(o); });
  wire_.serve(session_);
  EXPECT_EQ(kept(), (std::vector{true, true}));
  EXPECT_EQ(std::get<tickets::kept>(std::get<tickets::reply>(*renewed_)).unsure, std::vector<std::size_t>{0});
}

TEST_F(zookeeper_latches, of_another_number_are_refused_while_what_the_dead_have_counted_rests) {
  count(0);
  session_ends();
  want_permits(1, 5);
  count(1);
  const auto* const other = std::get_if<tickets::other_capacity>(&std::get<tickets::reply>(got_.at(1)));
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->capacity, 3);
  let_pass(31s);
  count(2);
  EXPECT_TRUE(is_granted(2)) << "nothing is left of the former";
}

TEST_F(zookeeper_latches, refuse_a_count_beyond_what_the_dead_have_left) {
  want_permits(2, 3);
  count(0);
  session_ends();
  count(1);
  EXPECT_TRUE(is_refused(1));
  want_permits(1, 3);
  count(2);
  EXPECT_TRUE(is_granted(2));
  EXPECT_EQ(permits_shown(), 3);
}

// A claim that waits has read the mark while the lease was there. A renewal has prolonged it since.
TEST_F(zookeeper_latches, heed_a_mark_as_it_was_after_the_last_renewal) {
  stays_ = insists_ = false;
  waits_ = true;
  count(0);
  send(tickets::task::release, 0, "stock");
  wire_.serve(session_);
  const owner_id other = marked_as_ours(owner(7), true);
  const std::string held = wire_.create("/stock/leases/" + node_name(layout::curator, role::lease, other), 99,
                                        operation::made::sequential);
  leave_mark(5, mode::permits, 60s);
  const std::string mark = mark_path("/stock", other);
  wire_.create(mark, 0, operation::made::persistent);
  wire_.all[mark].data = to_text({mode::permits, 1, 30s, true, fencing_token{4}, {}});
  want_permits(2, 3);
  claim_served(1, 0s, false);
  ASSERT_FALSE(is_granted(1)) << "a permit is held, and one of the dead rests";
  let_pass(20s);
  wire_.all[mark].changed_ms = wire_.now_ms;
  let_pass(2s);
  wire_.remove(held);
  let_pass(20s);
  EXPECT_TRUE(wire_.all.contains(mark));
  let_pass(20s);
  EXPECT_FALSE(wire_.all.contains(mark));
}

TEST_F(zookeeper_latches, show_a_count_until_the_last_of_its_leases_is_gone) {
  want_permits(3, 3);
  count(0);
  leave_resting(0, 30s);
  while (leases() == 3) wire_.serve_next(session_);
  wire_.lose_all();
  EXPECT_EQ(permits_shown(), 3);
}

TEST_F(zookeeper_latches, show_a_count_whose_process_is_killed_before_it_has_left_the_line) {
  claim(0, 0s, true);
  while (!got_.contains(0)) wire_.serve_next(session_);
  ASSERT_TRUE(is_granted(0));
  wire_.lose_all();
  ASSERT_EQ(wire_.all.at("/stock/locks").children.size(), 1U);
  EXPECT_EQ(permits_shown(), 1);
  EXPECT_TRUE(inspect().waiters.empty());
}

// An operator has removed its place in the line, so that somebody else has its turn, too.
TEST_F(zookeeper_latches, keep_no_node_that_was_made_before_its_parent_seemed_to_be_there) {
  want_permits(2, 3);
  claim(0, 0s, true);
  while (wire_.next() != kind::create || !wire_.all.contains("/stock/locks") ||
         wire_.all.at("/stock/locks").children.empty())
    wire_.serve_next(session_);
  wire_.serve_next(session_);
  ASSERT_FALSE(wire_.all.contains("/stock/leases"));
  wire_.create("/stock/leases", 0, operation::made::container);
  wire_.serve(session_);
  ASSERT_TRUE(is_granted(0));
  EXPECT_EQ(leases(), 2U);
}

TEST_F(zookeeper_latches, line_up_for_the_decision_on_a_count) {
  claim(0, 0s, true);
  while (!wire_.all.contains("/stock/locks") || wire_.all.at("/stock/locks").children.empty())
    wire_.serve_next(session_);
  claim(1, 0s, true);
  wire_.serve(session_);
  EXPECT_FALSE(is_refused(1)) << "the other one is not decided yet";
  EXPECT_EQ(permits_shown(), 2);
}

// All line up behind the first, and none of them fits beside it.
TEST_F(zookeeper_latches, get_the_refusal_of_a_count_that_has_lined_up_with_the_next_look) {
  want_permits(2, 3);
  for (const std::size_t each : {0, 1, 2}) claim(each, 0s, true);
  wire_.serve(session_);
  ASSERT_TRUE(is_granted(0));
  for (const std::size_t each : {1, 2}) {
    ASSERT_FALSE(is_refused(each)) << "it has lined up";
    ASSERT_EQ(received_.at(owner(each)).back(), store::notification_kind::look);
    EXPECT_FALSE(received_tokens_.at(owner(each)).back()) << "its owner does not know that of its leases";
    tickets::request look;
    look.kind = tickets::task::look;
    look.name = "stock";
    look.owner = owner(each);
    session_.send(look, [this, each](outcome o) { got_[each] = std::move(o); });
    pass(50ms);
    EXPECT_TRUE(is_refused(each)) << "without coming anew";
  }
  EXPECT_EQ(leases(), 2U) << "they leave nothing";
  EXPECT_TRUE(wire_.all.at("/stock/locks").children.empty());
}

TEST_F(zookeeper_latches, show_no_place_in_the_line_as_a_holder) {
  wire_.create("/stock/locks", 0, operation::made::container);
  wire_.create("/stock/locks/_c_7d0a1b9e-5b5f-4f0e-8d7b-3a5f6f1d2c3b-lock-", 99, operation::made::sequential);
  EXPECT_TRUE(inspect().holders.empty());
  EXPECT_EQ(inspect().waiters.size(), 1U);
}

// A party of a barrier has two claims while it goes on to the next. Who looks sees one of them at least.
TEST_F(zookeeper_latches, look_again_where_a_claim_went_between_two_reads) {
  stays_ = false;
  stand_for(store::attendance::kind::passed, 0);
  count(0);
  count(1);
  const std::string former = lease();
  outcome seen;
  begin_to_inspect(seen);
  wire_.serve_until(session_, former);
  const std::string next =
      wire_.create(former.substr(0, former.size() - 10), 99, operation::made::sequential);
  wire_.all[next].data = wire_.all[former].data;
  wire_.remove(former);
  wire_.serve(session_);
  EXPECT_EQ(state_in(seen).holders.size(), 2U);
}

TEST_F(zookeeper_latches, show_a_claim_that_is_left_to_its_mark_between_two_reads) {
  count(0);
  count(1);
  const std::size_t lists = wire_.counts[operation_kind::list];
  EXPECT_EQ(inspect().holders.size(), 2U);
  const std::size_t lists_of_a_look = wire_.counts[operation_kind::list] - lists;
  outcome seen;
  begin_to_inspect(seen);
  wire_.serve_until(session_, lease());
  wire_.remove(lease());
  wire_.serve(session_);
  EXPECT_EQ(state_in(seen).holders.size(), 2U);
  EXPECT_EQ(wire_.counts[operation_kind::list], lists + 2 * lists_of_a_look) << "the mark tells of the claim";
}

TEST_F(zookeeper_latches, leave_nothing_where_a_hold_ends_by_force_whose_process_was_killed_in_the_line) {
  claim(0, 0s, true);
  while (!got_.contains(0)) wire_.serve_next(session_);
  wire_.lose_all();
  EXPECT_EQ(force_release(), 1U);
  wire_.serve(session_);
  EXPECT_TRUE(wire_.all.at("/stock/locks").children.empty());
  EXPECT_EQ(marks(), 0U);
}

// The nodes of permits that were granted at once are watched from the first renewal on. A client that is
// closed before does not know that its hold has ended.
TEST_F(zookeeper_latches, are_delivered_once_the_mark_of_a_hold_that_was_ended_by_force_is_gone) {
  stays_ = false;
  count(0);
  force_release();
  leave_resting(0, 30s);
  while (!renewed_) wire_.serve_next(session_);
  ASSERT_EQ(kept(), std::vector{false});
  ASSERT_EQ(marks(), 1U) << "its removal is on its way";
  bool is_delivered = false;
  session_.when_delivered([&] { is_delivered = true; });
  EXPECT_FALSE(is_delivered);
  wire_.serve(session_);
  EXPECT_TRUE(is_delivered);
  EXPECT_EQ(marks(), 0U);
  session_.when_delivered([&] { is_delivered = false; });
  EXPECT_FALSE(is_delivered) << "nothing is on its way";
}

// The token of permits is the number of the last of their nodes.
TEST_F(zookeeper_latches, keep_their_token_while_their_nodes_go) {
  want_permits(2, 3);
  count(0);
  const fencing_token token = std::get<tickets::place>(std::get<tickets::reply>(got_.at(0))).token;
  ASSERT_EQ(inspect().holders.at(0).token, token);
  outcome seen;
  begin_to_inspect(seen);
  const std::string last = "/stock/leases/" + *leases_node().children.rbegin();
  wire_.serve_until(session_, last);
  wire_.remove(last);
  wire_.serve(session_);
  EXPECT_EQ(state_in(seen).holders.at(0).token, token);
  EXPECT_EQ(inspect().holders.at(0).token, token);
}

TEST_F(zookeeper_latches, are_looked_at_again_where_some_of_their_nodes_went_between_two_reads) {
  stays_ = false;
  want_permits(2, 3);
  count(0);
  const fencing_token token = std::get<tickets::place>(std::get<tickets::reply>(got_.at(0))).token;
  outcome seen;
  begin_to_inspect(seen);
  const std::string first = lease();
  const std::string last = "/stock/leases/" + *leases_node().children.rbegin();
  wire_.serve_until(session_, last);
  const std::string mark = leave_mark(5, mode::permits, 60s);
  wire_.all[mark].data = to_text({mode::permits, 2, 60s, true, token, {}});
  wire_.remove(last);
  wire_.remove(first);
  wire_.serve(session_);
  ASSERT_EQ(state_in(seen).holders.size(), 1U);
  EXPECT_EQ(state_in(seen).holders[0].token, token) << "a hold is ended by force by its token";
}

// Somebody ends the hold by force, and has removed the mark so far.
TEST_F(zookeeper_latches, make_no_mark_anew_that_was_removed_by_force) {
  count(0);
  wire_.remove("/stock/rests%/" + *wire_.all.at("/stock/rests%").children.begin());
  leave_resting(0, 30s);
  wire_.serve(session_);
  EXPECT_EQ(kept(), std::vector{false});
  EXPECT_EQ(marks(), 0U);
  EXPECT_EQ(leases(), 0U);
}

TEST_F(zookeeper_latches, are_ended_by_force_although_their_holders_leave_marks_meanwhile) {
  stays_ = false;
  count(0);
  const std::string node = lease();
  tickets::request r;
  r.kind = tickets::task::force_release;
  r.name = "stock";
  session_.send(r, [this](outcome o) { got_[1] = std::move(o); });
  while (wire_.counts[operation_kind::get] == 0 || wire_.next() != operation_kind::remove)
    wire_.serve_next(session_);
  const fencing_token token{static_cast<std::uint64_t>(wire_.all.at(node).created)};
  const std::string mark = leave_mark(5, mode::permits, 60s);
  wire_.all[mark].data = to_text({mode::permits, 1, 60s, true, token, {}});
  leave_mark(6, mode::permits, 60s);
  wire_.remove(node);
  wire_.serve(session_);
  EXPECT_FALSE(wire_.all.contains(mark));
  EXPECT_EQ(marks(), 1U) << "that of a hold which has come since";
  EXPECT_EQ(std::get<tickets::count>(std::get<tickets::reply>(got_.at(1))).value, 1U);
}

TEST_F(zookeeper_latches, leave_nothing_of_a_count_that_is_ended_by_force) {
  count(0);
  EXPECT_EQ(force_release(), 1U);
  wire_.serve(session_);
  EXPECT_EQ(permits_shown(), 0);
  EXPECT_EQ(marks(), 0U);
}

}  // namespace
}  // namespace holdfast::zookeeper
