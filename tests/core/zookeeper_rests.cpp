// How a name rests: the marks that holds leave, and the claims that heed them.

#include "core/zookeeper_rests.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>

namespace holdfast::zookeeper {
namespace {

TEST_F(zookeeper_rests, cost_nothing_where_nobody_rests) {
  claim_served(0, 0s, false);
  claim_served(1, 0s, false);
  send(tickets::task::release, 0, "stock");
  wire_.serve(session_);
  EXPECT_TRUE(is_granted(1));
  EXPECT_EQ(wire_.counts[kind::set], 0U);
  EXPECT_FALSE(wire_.all.contains("/stock/rests%"));
}

TEST_F(zookeeper_rests, are_marked_before_the_grant_is_reported) {
  claim(0, 5s, true);
  while (!got_.contains(0)) wire_.serve_next(session_);
  EXPECT_TRUE(is_granted(0));
  EXPECT_EQ(marks(), 1U);
  send(tickets::task::release, 0, "stock");
  wire_.serve(session_);
  EXPECT_EQ(marks(), 0U) << "a release waits for no grace";
}

TEST_F(zookeeper_rests, begin_when_the_first_in_line_notices) {
  claim_served(0, 5s, true);
  holder_dies(0);
  let_pass(1s);
  claim_served(1, 0s, false);
  EXPECT_FALSE(is_granted(1));
  let_pass(4900ms);
  EXPECT_FALSE(is_granted(1));
  let_pass(200ms);
  EXPECT_TRUE(is_granted(1));
  EXPECT_EQ(marks(), 0U) << "whoever is granted removes it";
}

TEST_F(zookeeper_rests, follow_a_session_whose_end_is_first_heard_of_by_the_end_of_its_nodes) {
  claim_served(0, 5s, true);
  watch_own(0);
  wire_.remove(node_of(0, "/stock"), session_);
  wire_.lose_all();  // the servers carry out nothing more of that session
  session_.expired();
  wire_.begin_session(other_session);
  session_.connected(other_session, 10s, time_.now());
  wire_.serve(session_);
  EXPECT_EQ(marks(), 1U);
  claim_served(1, 0s, false);
  EXPECT_FALSE(is_granted(1));
  let_pass(5100ms);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_rests, do_not_follow_a_hold_whose_node_is_removed_by_hand) {
  claim_served(0, 5s, true);
  watch_own(0);
  wire_.remove(node_of(0, "/stock"), session_);
  wire_.serve(session_);
  EXPECT_EQ(marks(), 0U);
}

TEST_F(zookeeper_rests, refuse_a_claim_that_does_not_wait_and_begin_with_it) {
  claim_served(0, 5s, true);
  holder_dies(0);
  waits_ = false;
  claim_served(1, 0s, false);
  EXPECT_TRUE(is_refused(1));
  let_pass(3s);
  claim_served(2, 0s, false);
  EXPECT_TRUE(is_refused(2)) << "by the leader's clock";
  let_pass(2100ms);
  claim_served(3, 0s, false);
  EXPECT_TRUE(is_granted(3));
}

TEST_F(zookeeper_rests, follow_a_release_before_the_least_time) {
  claim_served(0, 0s, true);
  EXPECT_EQ(marks(), 0U) << "there is none before the release";
  claim_served(1, 0s, false);
  leave_resting(0, 3s);
  wire_.serve(session_);
  EXPECT_TRUE(kept().at(0));
  EXPECT_EQ(marks(), 1U);
  EXPECT_TRUE(node_of(0, "/stock").empty());
  let_pass(2900ms);
  EXPECT_FALSE(is_granted(1));
  let_pass(200ms);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_rests, are_written_before_the_nodes_go) {
  claim_served(0, 0s, true);
  leave_resting(0, 3s);
  const std::string node = node_of(0, "/stock");
  while (wire_.all.contains(node)) {
    wire_.serve_next(session_);
    EXPECT_TRUE(wire_.all.contains(node) || marks() == 1U);
  }
}

TEST_F(zookeeper_rests, are_no_longer_where_the_leaders_clock_is_set_back) {
  claim_served(0, 0s, true);
  leave_resting(0, 3s);
  wire_.serve(session_);
  wire_.now_ms -= 60'000;
  claim_served(1, 0s, false);
  EXPECT_FALSE(is_granted(1));
  let_pass(3100ms);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_rests, begin_anew_for_a_try_where_the_leaders_clock_is_set_back) {
  claim_served(0, 0s, true);
  leave_resting(0, 3s);
  wire_.serve(session_);
  wire_.now_ms -= 60'000;
  waits_ = false;
  claim_served(1, 0s, false);
  EXPECT_TRUE(is_refused(1));
  let_pass(2900ms);
  claim_served(2, 0s, false);
  EXPECT_TRUE(is_refused(2));
  let_pass(200ms);
  claim_served(3, 0s, false);
  EXPECT_TRUE(is_granted(3)) << "not after a minute only";
}

TEST_F(zookeeper_rests, of_permits_count_while_their_leases_go_one_by_one) {
  want_permits(3, 4);
  claim_served(0, 0s, true);
  ASSERT_EQ(leases(), 3U);
  leave_resting(0, 3s);
  while (leases() == 3) wire_.serve_next(session_);
  wire_.lose_all();
  want_permits(2, 4);
  claim_served(1, 0s, false);
  ASSERT_EQ(leases(), 4U) << "two of the first claim, and two of the second";
  EXPECT_FALSE(is_granted(1));
  let_pass(2900ms);
  EXPECT_FALSE(is_granted(1));
  let_pass(200ms);
  wire_.serve(session_);
  EXPECT_TRUE(is_granted(1) || received_.contains(owner(1)));
  EXPECT_EQ(marks(), 1U) << "the claim that has leases may still write it";
}

TEST_F(zookeeper_rests, of_permits_leave_those_that_nobody_had) {
  want_permits(3, 4);
  claim_served(0, 5s, true);
  want_permits(1, 4);
  claim_served(1, 0s, false);
  EXPECT_TRUE(is_granted(1)) << "beside a hold that has a mark";
  send(tickets::task::release, 1, "stock");
  wire_.serve(session_);
  leave_resting(0, 3s);
  wire_.serve(session_);
  ASSERT_EQ(leases(), 0U);
  claim_served(2, 0s, false);
  EXPECT_TRUE(is_granted(2));
  claim_served(3, 0s, false);
  EXPECT_FALSE(is_granted(3));
}

TEST_F(zookeeper_rests, of_readers_delay_writers_alone) {
  wants_ = role::reader;
  claim_served(0, 0s, true);
  leave_resting(0, 3s);
  wire_.serve(session_);
  claim_served(1, 0s, false);
  EXPECT_TRUE(is_granted(1));
  send(tickets::task::release, 1, "stock");
  wants_ = role::writer;
  claim_served(2, 0s, false);
  EXPECT_FALSE(is_granted(2));
  let_pass(3100ms);
  EXPECT_TRUE(is_granted(2));
}

TEST_F(zookeeper_rests, are_shown_as_holders_and_end_by_force) {
  claim_served(0, 5s, true);
  EXPECT_EQ(inspect().holders.size(), 1U) << "a holder and its mark are one";
  leave_resting(0, 60s);
  wire_.serve(session_);
  claim_served(1, 0s, false);
  const lock_state seen = inspect();
  ASSERT_EQ(seen.holders.size(), 1U);
  EXPECT_EQ(seen.waiters.size(), 1U) << "the first in line does not hold";
  EXPECT_LT(seen.holders.at(0).token, seen.waiters.at(0).token);
  EXPECT_EQ(force_release(), 1U);
  let_pass(1100ms);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_rests, of_others_end_by_force) {
  leave_mark(5, mode::exclusive, 60s);
  EXPECT_EQ(force_release(), 1U);
  EXPECT_EQ(marks(), 0U);
}

TEST_F(zookeeper_rests, of_permits_that_end_while_a_mutex_comes_delay_it) {
  want_permits(4, 4);
  claim_served(0, 0s, true);
  wants_ = role::mutex;
  capacity_ = store::full_capacity;
  claim(1, 0s, false);
  const auto lists = wire_.counts[kind::list];
  while (wire_.counts[kind::list] == lists) wire_.serve_next(session_);
  // Another client's release, at once.
  auto& below = wire_.all.at("/stock/leases").children;
  for (const std::string& each : below) wire_.all.erase("/stock/leases/" + each);
  below.clear();
  wire_.create("/stock/rests%", 0, operation::made::container);
  const std::string path = mark_path("/stock", owner(5));
  wire_.create(path, 0, operation::made::persistent);
  wire_.all[path].data = to_text({mode::permits, 4, 3s, true, fencing_token{3}, {}});
  wire_.serve(session_);
  EXPECT_FALSE(is_granted(1));
  let_pass(3100ms);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_rests, end_with_a_hold_that_is_ended_by_force) {
  claim_served(0, 5s, true);
  EXPECT_EQ(force_release(), 1U);
  EXPECT_EQ(marks(), 0U);
  claim_served(1, 0s, false);
  EXPECT_TRUE(is_granted(1));
}

TEST_F(zookeeper_rests, are_not_begun_by_a_claim_that_is_withdrawn_while_it_waits_for_one) {
  claim_served(0, 0s, true);
  leave_resting(0, 3s);
  wire_.serve(session_);
  claim_served(1, 5s, true);
  EXPECT_FALSE(is_granted(1));
  send(tickets::task::withdraw, 1, "stock");
  wire_.serve(session_);
  EXPECT_EQ(marks(), 1U);
  let_pass(3100ms);
  claim_served(2, 0s, false);
  EXPECT_TRUE(is_granted(2));
}

TEST_F(zookeeper_rests, that_could_not_be_written_are_written_over_the_next_connection) {
  claim_served(0, 0s, true);
  leave_resting(0, 3s);
  session_.disconnected();
  wire_.lose_all();
  session_.connected(session_id, 10s, time_.now());
  wire_.serve(session_);
  EXPECT_EQ(marks(), 1U);
  EXPECT_TRUE(node_of(0, "/stock").empty()) << "nobody keeps it";
}

TEST_F(zookeeper_rests, of_a_writer_that_is_downgraded_and_released_at_once_are_those_of_a_reader) {
  wants_ = role::writer;
  claim_served(0, 0s, true);
  send(tickets::task::downgrade, 0, "stock");
  send(tickets::task::annotate, 0, "stock");
  leave_resting(0, 3s);
  wire_.serve(session_);
  EXPECT_FALSE(received_.contains(owner(0))) << "the writer's node has become another";
  EXPECT_TRUE(kept().at(0));
  EXPECT_EQ(marks(), 1U);
  claim_served(1, 0s, false);
  let_pass(2800ms);
  EXPECT_FALSE(is_granted(1));
  let_pass(400ms);
  EXPECT_TRUE(is_granted(1));
}

TEST(zookeeper_mark, is_read_as_it_was_written) {
  const mark m{mode::permits, 3, 5s, true, fencing_token{77}, R"({"host":"web-1"})"};
  const auto read = read_mark(to_text(m));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(m));
  EXPECT_EQ(read->permits, 3);
  EXPECT_FALSE(read_mark("holdfast-rest 1 9 0 0 0 0\n"));
  EXPECT_FALSE(read_mark("holdfast-rest 1 0 0 5 1 7"));
  EXPECT_FALSE(read_mark("anything"));
  EXPECT_EQ(read_mark("holdfast-rest 1 0 0 999999999999999 1 7\n")->length, longest_rest);
}

}  // namespace
}  // namespace holdfast::zookeeper
