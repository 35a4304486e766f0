// How claims look at rests: once for all, past what others have left there, and over cut connections.

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/zookeeper_rests.hpp"

namespace holdfast::zookeeper {
namespace {

class zookeeper_looks_at_rests : public zookeeper_rests {};

TEST_F(zookeeper_looks_at_rests, of_permits_keep_no_leases_for_a_claim_whose_place_is_removed_by_hand) {
  want_permits(2, 3);
  claim_served(0, 0s, true);
  leave_resting(0, 30s);
  wire_.serve(session_);
  claim_served(1, 0s, false);
  ASSERT_FALSE(is_granted(1));
  ASSERT_EQ(leases(), 2U);
  wire_.remove(node_of(1, "/stock/locks"));
  make_leases_of_others(2);  // the next in line waits for those of the first to go
  let_pass(1100ms);
  EXPECT_EQ(received_.at(owner(1)).back(), store::notification_kind::revoked);
  EXPECT_EQ(leases(), 2U);
}

TEST_F(zookeeper_looks_at_rests, of_permits_wait_for_leases_that_others_make_out_of_turn) {
  want_permits(2, 3);
  claim_served(0, 0s, true);
  leave_resting(0, 3s);
  wire_.serve(session_);
  claim_served(1, 0s, false);
  const std::vector<std::string> others = make_leases_of_others(2);
  let_pass(3100ms);
  EXPECT_FALSE(received_.contains(owner(1)));
  const std::size_t before = wire_.counts[kind::list];
  let_pass(5000ms);
  EXPECT_EQ(wire_.counts[kind::list], before) << "it watches, and does not poll";
  for (const std::string& each : others) wire_.remove(each);
  session_.happened("/stock/leases", change::children);
  wire_.serve(session_);
  EXPECT_TRUE(received_.contains(owner(1)));
}

TEST_F(zookeeper_looks_at_rests, that_are_over_hold_up_nobody_when_their_mark_has_a_child) {
  const std::string path = leave_mark(5, mode::exclusive, 3s);
  wire_.create(path + "/child", 0, operation::made::persistent);
  claim_served(0, 0s, false);
  EXPECT_FALSE(is_granted(0));
  const std::size_t before = requests();
  let_pass(3100ms);
  EXPECT_TRUE(is_granted(0));
  EXPECT_LT(requests() - before, 40U) << "it does not try again and again";
  wire_.all[path].changed_ms -= 10'000;  // by this computer's clock no time has passed
  EXPECT_EQ(inspect().holders.size(), 1U);
  EXPECT_EQ(inspect().waiters.size(), 0U) << "it holds, whatever stays beside it";
  send(tickets::task::release, 0, "stock");
  waits_ = false;
  claim_served(1, 0s, false);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_looks_at_rests, are_looked_at_once_for_all_claims_of_a_client) {
  leave_mark(5, mode::exclusive, 30s);
  wants_ = role::reader;
  for (std::size_t i = 0; i < 50; ++i) claim(i, 0s, false);
  wire_.serve(session_);
  EXPECT_FALSE(is_granted(49));
  const std::size_t before = requests();
  let_pass(10s);
  EXPECT_LT(requests() - before, 10U * 8U);
  EXPECT_LT(wire_.counts[kind::get], 10U) << "a mark is read once";
  let_pass(21s);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_TRUE(is_granted(i)) << i;
}

TEST_F(zookeeper_looks_at_rests, are_all_weighed) {
  for (std::size_t i = 0; i < 700; ++i) leave_mark(1000 + i, mode::shared, 60s);
  wants_ = role::reader;
  claim_served(0, 0s, false);
  EXPECT_TRUE(is_granted(0));
  send(tickets::task::release, 0, "stock");
  const std::string last = leave_mark(1000 + 699 + 1, mode::exclusive, 60s);
  claim_served(1, 0s, false);
  EXPECT_FALSE(is_granted(1));
  wire_.remove(last);
  let_pass(1100ms);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_looks_at_rests, are_not_left_by_a_claim_that_dies_while_it_waits_behind_another) {
  claim_served(0, 0s, false);
  claim_served(1, 5s, true);
  EXPECT_EQ(marks(), 0U);
  wire_.remove(node_of(1, "/stock"), session_);
  wire_.serve(session_);
  send(tickets::task::release, 0, "stock");
  claim_served(2, 0s, false);
  EXPECT_TRUE(is_granted(2));
}

TEST_F(zookeeper_looks_at_rests, that_begin_while_the_watch_of_a_hold_is_under_way_are_heeded_and_end) {
  claim_served(0, 0s, true);
  claim(1, 0s, false);
  const auto lists = wire_.counts[kind::list];
  while (wire_.counts[kind::list] == lists) wire_.serve_next(session_);
  wire_.remove(node_of(0, "/stock"));
  leave_mark(5, mode::exclusive, 1s);
  wire_.serve(session_);
  EXPECT_FALSE(is_granted(1));
  let_pass(1100ms);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_looks_at_rests, are_looked_at_again_where_a_look_was_cut_off) {
  leave_mark(5, mode::exclusive, 3s);
  claim_served(0, 0s, false);
  time_.run_for(1s);  // the next look is under way
  session_.disconnected();
  wire_.fail_all();
  session_.connected(session_id, 10s, time_.now());
  let_pass(3100ms);
  EXPECT_TRUE(is_granted(0));
}

TEST_F(zookeeper_looks_at_rests, of_a_session_that_ends_during_a_look_leave_no_claim_without_an_answer) {
  leave_mark(5, mode::exclusive, 3s);
  claim(0, 0s, false);
  while (wire_.counts[kind::set] == 0) wire_.serve_next(session_);
  session_.expired();
  wire_.lose_all();
  time_.run_for(1ms);
  ASSERT_TRUE(got_.contains(0));
  EXPECT_TRUE(std::holds_alternative<store::request_error>(got_.at(0)));
}

TEST_F(zookeeper_looks_at_rests, do_not_follow_a_release_that_was_cut_off_before_the_session_ended) {
  claim_served(0, 5s, true);
  ASSERT_EQ(marks(), 1U);
  send(tickets::task::release, 0, "stock");
  session_.disconnected();
  wire_.fail_all();
  wire_.remove(node_of(0, "/stock"));
  session_.expired();
  send(tickets::task::release, 0, "stock");
  wire_.fail_all();
  EXPECT_TRUE(std::holds_alternative<store::request_error>(got_.at(0))) << "it rests still";
  wire_.begin_session(other_session);
  session_.connected(other_session, 10s, time_.now());
  send(tickets::task::release, 0, "stock");
  while (marks() != 0) wire_.serve_next(session_);
  wire_.serve(session_);
  const auto& answered = std::get<tickets::reply>(got_.at(0));
  EXPECT_TRUE(std::holds_alternative<tickets::nothing>(answered));
}

TEST_F(zookeeper_looks_at_rests, are_shown_beside_a_holder_that_heeds_none) {
  wire_.create("/stock/_c_7d0a1b9e-5b5f-4f0e-8d7b-3a5f6f1d2c3b-lock-", 99, operation::made::sequential);
  leave_mark(5, mode::exclusive, 60s);
  claim_served(0, 0s, false);
  const lock_state seen = inspect();
  EXPECT_EQ(seen.holders.size(), 2U) << "Curator's client, and the rest";
  EXPECT_EQ(seen.waiters.size(), 1U);
}

}  // namespace
}  // namespace holdfast::zookeeper
