// SPDX-License-Identifier: Apache-2.0
// What an observer of an election reports, from what it sees.

#include "core/leader_tracker.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>

#include "core/samples.hpp"

namespace holdfast {
namespace {

using namespace test;

claim_state claim_of(std::uint64_t token, std::optional<std::string> value) {
  claim_state c;
  c.mode = mode::exclusive;
  c.token = fencing_token{token};
  c.expires_in = 10s;
  c.claimant.host = "alpha";
  c.claimant.pid = 7;
  c.claimant.value = std::move(value);
  return c;
}

std::optional<lock_state> led_by(std::uint64_t token, const std::string& value) {
  lock_state s;
  s.holders.push_back(claim_of(token, value));
  return s;
}

/// A client of another library, as ZooKeeper has it: with a token, and without a process.
std::optional<lock_state> led_by_another_library(std::uint64_t token, const std::string& text) {
  lock_state s;
  claim_state c;
  c.token = fencing_token{token};
  c.claimant.label = text;
  c.expires_in = 10s;
  s.holders.push_back(c);
  return s;
}

class leader_tracker : public testing::Test {
 protected:
  /// What is reported after a look: the value, "nobody", or empty for no report.
  std::string sees(const std::optional<lock_state>& state) {
    const auto report = it.looked(now, state);
    if (!report) return {};
    EXPECT_FALSE(report->failed);
    return report->leader ? report->leader->value : "nobody";
  }

  store::leader_tracker it;
  store::time_point now = epoch;
};

TEST_F(leader_tracker, reports_the_first_state_and_then_changes) {
  EXPECT_EQ(sees(std::nullopt), "nobody");
  EXPECT_EQ(sees(std::nullopt), "");
  EXPECT_EQ(sees(led_by(5, "a")), "a");
  EXPECT_EQ(sees(led_by(5, "a")), "");
  EXPECT_EQ(sees(led_by(5, "b")), "b") << "a value may change within a term";
  EXPECT_EQ(sees(led_by(6, "b")), "b") << "the next term, of the same value";
  EXPECT_EQ(sees(std::nullopt), "nobody");
}

TEST_F(leader_tracker, never_reports_an_older_term_after_a_newer_one) {
  EXPECT_EQ(sees(led_by(6, "new")), "new");
  EXPECT_EQ(sees(led_by(5, "old")), "") << "from a copy that lags behind";
  EXPECT_EQ(sees(std::nullopt), "nobody");
  EXPECT_EQ(sees(led_by(5, "old")), "") << "also with nobody in between";
  now += 9s;
  EXPECT_EQ(sees(led_by(5, "old")), "");
  EXPECT_EQ(sees(led_by(7, "newer")), "newer");
}

TEST_F(leader_tracker, never_reports_a_former_value_of_a_term_after_a_newer_one) {
  auto newer = led_by(6, "b");
  newer->holders[0].claimant.value_revision = 1;
  EXPECT_EQ(sees(led_by(6, "a")), "a");
  EXPECT_EQ(sees(newer), "b");
  EXPECT_EQ(sees(led_by(6, "a")), "") << "from a copy that lags behind";
  newer->holders[0].claimant.value_revision = 2;
  newer->holders[0].claimant.value = "a";
  EXPECT_EQ(sees(newer), "a");
  EXPECT_EQ(sees(led_by(7, "c")), "c") << "each term counts for itself";
}

TEST_F(leader_tracker, reports_no_former_value_of_a_copy_that_lags_for_longer_than_a_ttl) {
  auto newer = led_by(6, "b");
  newer->holders[0].claimant.value_revision = 1;
  EXPECT_EQ(sees(newer), "b");
  EXPECT_EQ(sees(led_by(6, "a")), "");
  now += 20s;
  EXPECT_EQ(sees(led_by(6, "a")), "") << "the term is the one that was reported, so the leader goes on";
  EXPECT_EQ(sees(newer), "");
}

TEST_F(leader_tracker, reports_no_former_value_when_a_term_that_was_over_comes_back) {
  auto proclaimed = led_by(7, "b");
  proclaimed->holders[0].claimant.value_revision = 1;
  EXPECT_EQ(sees(proclaimed), "b");
  EXPECT_EQ(sees(std::nullopt), "nobody");
  // The store has lost its last writes: the value, and that the term is over.
  EXPECT_EQ(sees(led_by(7, "a")), "");
  now += 10s;
  EXPECT_EQ(sees(led_by(7, "a")), "a") << "it goes on, so it leads";
}

// Whoever renews leads. Without it one token that is too large, of a clock that was wrong for a moment, would
// hide all leaders after it.
TEST_F(leader_tracker, reports_a_leader_of_a_smaller_token_that_outlives_its_ttl) {
  EXPECT_EQ(sees(led_by(1'000'000, "far")), "far");
  EXPECT_EQ(sees(led_by(5, "a")), "");
  now += 5s;
  EXPECT_EQ(sees(led_by(5, "a")), "");
  now += 5s;
  EXPECT_EQ(sees(led_by(5, "a")), "a");
  EXPECT_EQ(sees(led_by(6, "b")), "b") << "the tokens count from there";
}

TEST_F(leader_tracker, counts_the_time_of_each_older_term_alone) {
  EXPECT_EQ(sees(led_by(9, "new")), "new");
  EXPECT_EQ(sees(led_by(5, "a")), "");
  now += 9s;
  EXPECT_EQ(sees(led_by(6, "b")), "");
  now += 2s;
  EXPECT_EQ(sees(led_by(6, "b")), "") << "it has not outlived its own";
  EXPECT_EQ(sees(led_by(9, "new")), "") << "it was reported already";
  now += 20s;
  EXPECT_EQ(sees(led_by(6, "b")), "") << "its time begins anew";
}

TEST_F(leader_tracker, reports_clients_of_other_libraries) {
  EXPECT_EQ(sees(led_by(6, "ours")), "ours");
  EXPECT_EQ(sees(led_by_another_library(7, "theirs")), "theirs");
  EXPECT_EQ(sees(led_by_another_library(7, "theirs")), "");
  EXPECT_EQ(sees(led_by_another_library(8, "another")), "another");
  EXPECT_EQ(sees(led_by(5, "old")), "");
  EXPECT_EQ(sees(led_by(9, "ours")), "ours");
}

TEST_F(leader_tracker, reports_each_kind_of_error_once_and_the_leader_when_the_store_answers_again) {
  EXPECT_EQ(sees(led_by(6, "a")), "a");
  const auto first = it.failed({errc::unavailable, "it does not answer"});
  ASSERT_TRUE(first && first->failed);
  EXPECT_EQ(first->failed->code(), errc::unavailable);
  ASSERT_TRUE(first->leader);
  EXPECT_EQ(first->leader->value, "a") << "the last one that was seen";
  EXPECT_FALSE(it.failed({errc::unavailable, "it does not answer"}));
  EXPECT_TRUE(it.failed({errc::permission_denied, "no"}));
  EXPECT_EQ(sees(led_by(6, "a")), "a");
  EXPECT_EQ(sees(led_by(6, "a")), "");
}

TEST_F(leader_tracker, looks_again_when_the_leader_expires_and_once_a_second) {
  EXPECT_EQ(it.next_look(now), now + 1s);
  EXPECT_EQ(sees(led_by(6, "a")), "a");
  EXPECT_EQ(it.next_look(now), now + 1s);
  auto dying = led_by(6, "a");
  dying->holders[0].expires_in = 300ms;
  EXPECT_EQ(sees(dying), "");
  EXPECT_EQ(it.next_look(now), now + 301ms);
  dying->holders[0].expires_in = duration::zero();
  EXPECT_EQ(sees(dying), "");
  EXPECT_EQ(it.next_look(now), now + 20ms);
}

TEST(candidates, are_no_readers_permits_or_mutexes) {
  lock_state s;
  s.holders.push_back(claim_of(3, std::nullopt));
  EXPECT_FALSE(store::leader_in(s)) << "a mutex of ours";
  s.holders[0].claimant.value = "a";
  EXPECT_TRUE(store::leader_in(s));
  s.holders[0].mode = mode::shared;
  EXPECT_FALSE(store::leader_in(s));
  s.holders[0].mode = mode::permits;
  EXPECT_FALSE(store::leader_in(s));
  EXPECT_FALSE(store::leader_in(led_by_another_library(0, "a")))
      << "a lock of another library, without a token";
  EXPECT_FALSE(store::leader_in(led_by(0, "a")))
      << "a lock of another library whose text looks like a candidate's";
  s.waiters.push_back(claim_of(4, "b"));
  s.waiters.push_back(claim_of(5, std::nullopt));
  const auto all = store::candidates_in(s);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].value, "b");
  EXPECT_FALSE(all[0].leads);
  EXPECT_TRUE(store::candidates_in(std::nullopt).empty());
}

}  // namespace
}  // namespace holdfast
