// SPDX-License-Identifier: Apache-2.0
// The search for the map of a cluster: one server after another, on virtual time.

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/redis/link/cluster/topology.hpp"
#include "unit/redis_values.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

store::request_error broken(std::string message, bool retryable = true) {
  return {{errc::unavailable, std::move(message)}, retryable, true};
}

class redis_topology : public testing::Test {
 protected:
  struct question {
    std::string server;
    topology::on_answer answer;
  };

  /// A reply to the question for the map, with one server for all slots.
  static value reply_with(const std::string& host) {
    return list({list({number(0), number(16383), list({text(host), number(7000), text("id")})})});
  }
  void give_map(std::size_t question, const std::string& host) {
    const value reply = reply_with(host);
    answer(question, reply);
  }
  /// Each question is answered once.
  void answer(std::size_t question, const value& reply) {
    std::exchange(questions_.at(question).answer, nullptr)(&reply, nullptr);
  }
  void fail(std::size_t question, const store::request_error& problem) {
    std::exchange(questions_.at(question).answer, nullptr)(nullptr, &problem);
  }
  [[nodiscard]] std::vector<std::string> servers_asked() const {
    std::vector<std::string> servers;
    for (const question& each : questions_) servers.push_back(each.server);
    return servers;
  }

  test::virtual_time time_;
  std::vector<server_address> candidates_{{"a", "1"}, {"b", "1"}, {"c", "1"}};
  std::vector<question> questions_;
  std::vector<std::string> maps_;  // the server of slot 0
  std::vector<store::request_error> failures_;
  std::function<void()> after_failure_;
  topology topology_{time_,
                     {[this] { return candidates_; },
                      [this](const server_address& which, topology::on_answer handler) {
                        questions_.push_back({which.host, std::move(handler)});
                      },
                      [this](const slot_map& map) { maps_.push_back(map.primary_of(0)->host); },
                      [this](const store::request_error& reason) {
                        failures_.push_back(reason);
                        if (after_failure_) after_failure_();
                      }}};
};

TEST_F(redis_topology, takes_the_map_of_the_first_that_answers) {
  topology_.refresh();
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
  give_map(0, "p");
  EXPECT_THAT(maps_, ElementsAre("p"));
  EXPECT_EQ(time_.timers(), 0U);
  time_.run_for(1h);
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(redis_topology, asks_the_next_at_once_when_one_fails) {
  topology_.refresh();
  fail(0, broken("a:1: Connection refused"));
  answer(1, error_of("LOADING"));
  give_map(2, "p");
  EXPECT_THAT(servers_asked(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(maps_, ElementsAre("p"));
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(redis_topology, takes_no_map_without_slots_and_no_nonsense) {
  topology_.refresh();
  answer(0, list({}));
  answer(1, text("OK"));
  EXPECT_THAT(maps_, IsEmpty());
  give_map(2, "p");
  EXPECT_THAT(maps_, ElementsAre("p"));
}

TEST_F(redis_topology, asks_the_next_as_well_when_one_takes_long) {
  topology_.refresh();
  time_.run_for(499ms);
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
  time_.run_for(1ms);
  EXPECT_THAT(servers_asked(), ElementsAre("a", "b"));
  give_map(0, "late");
  EXPECT_THAT(maps_, ElementsAre("late")) << "both count";
  give_map(1, "later");
  EXPECT_THAT(maps_, ElementsAre("late")) << "one map is enough";
}

TEST_F(redis_topology, waits_for_the_slow_when_there_is_nobody_else) {
  topology_.refresh();
  time_.run_for(1h);
  EXPECT_THAT(servers_asked(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(failures_, IsEmpty());
  fail(2, broken("c is gone"));
  fail(0, broken("a is gone"));
  EXPECT_THAT(failures_, IsEmpty()) << "one has not answered";
  give_map(1, "p");
  EXPECT_THAT(maps_, ElementsAre("p"));
}

TEST_F(redis_topology, does_not_count_answers_of_an_earlier_round) {
  topology_.refresh();
  time_.run_for(500ms);
  give_map(1, "p");
  time_.run_for(1s);
  topology_.refresh();
  ASSERT_THAT(servers_asked(), ElementsAre("a", "b", "a"));
  give_map(0, "stale");
  EXPECT_THAT(maps_, ElementsAre("p"));
  give_map(2, "q");
  EXPECT_THAT(maps_, ElementsAre("p", "q"));
}

TEST_F(redis_topology, does_not_count_failures_of_an_earlier_round) {
  candidates_.resize(2);
  topology_.refresh();
  time_.run_for(500ms);
  give_map(1, "p");
  time_.run_for(1s);
  topology_.refresh();
  fail(0, broken("late"));
  fail(2, broken("a is gone"));
  fail(3, broken("b is gone"));
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_THAT(failures_[0].reason.message,
              AllOf(HasSubstr("a is gone"), HasSubstr("b is gone"), Not(HasSubstr("late"))));
}

TEST_F(redis_topology, says_why_nobody_has_answered) {
  candidates_ = {{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}, {"e", "1"}};
  topology_.refresh();
  fail(0, {{errc::permission_denied, "a:1: WRONGPASS"}, false, false});
  answer(1, error_of("ERR unknown command"));
  answer(2, list({}));
  answer(3, list({number(1)}));
  fail(4, broken("e:1: Connection refused"));
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_TRUE(failures_[0].retryable);
  EXPECT_FALSE(failures_[0].maybe_executed) << "nothing was sent";
  EXPECT_EQ(failures_[0].reason.code, errc::unavailable);
  EXPECT_THAT(
      failures_[0].reason.message,
      AllOf(HasSubstr("a:1: WRONGPASS"), HasSubstr("b:1: the server answers: ERR unknown command"),
            HasSubstr("c:1: the cluster has given no slot"), HasSubstr("and 2 more"), Not(HasSubstr("e:1"))));
  EXPECT_THAT(maps_, IsEmpty());
}

TEST_F(redis_topology, is_not_worth_another_try_where_all_refuse_for_good) {
  topology_.refresh();
  for (std::size_t i = 0; i < 3; ++i) fail(i, {{errc::permission_denied, "WRONGPASS"}, false, false});
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_FALSE(failures_[0].retryable);
  EXPECT_EQ(failures_[0].reason.code, errc::permission_denied);
}

TEST_F(redis_topology, fails_where_there_is_nobody_to_ask) {
  candidates_.clear();
  topology_.refresh();
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_FALSE(failures_[0].retryable);
}

TEST_F(redis_topology, asks_once_however_often_it_is_told) {
  topology_.refresh();
  topology_.refresh();
  topology_.refresh();
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
  give_map(0, "p");
  time_.run_for(1h);
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
}

TEST_F(redis_topology, waits_a_moment_before_it_asks_again) {
  topology_.refresh();
  give_map(0, "p");
  topology_.refresh();
  topology_.refresh();
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
  time_.run_for(99ms);
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
  time_.run_for(1ms);
  EXPECT_THAT(servers_asked(), ElementsAre("a", "a"));
  give_map(1, "q");
  time_.run_for(100ms);
  EXPECT_EQ(questions_.size(), 2U) << "once for both";
  topology_.refresh();
  EXPECT_EQ(questions_.size(), 3U) << "at once, since the last time is long ago";
}

// Whoever hears of a failure may send the next request from there.
TEST_F(redis_topology, may_be_told_from_within_a_failure) {
  candidates_.resize(1);
  after_failure_ = [this] { topology_.refresh(); };
  topology_.refresh();
  fail(0, broken("gone"));
  EXPECT_EQ(questions_.size(), 1U);
  time_.run_for(100ms);
  ASSERT_EQ(questions_.size(), 2U);
  give_map(1, "p");
  EXPECT_THAT(maps_, ElementsAre("p"));
}

TEST_F(redis_topology, does_nothing_after_it_was_stopped) {
  topology_.refresh();
  topology_.stop();
  give_map(0, "p");
  topology_.refresh();
  time_.run_for(1h);
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
  EXPECT_THAT(maps_, IsEmpty());
  EXPECT_EQ(time_.timers(), 0U);
}

TEST_F(redis_topology, forgets_the_next_round_when_it_is_stopped) {
  topology_.refresh();
  give_map(0, "p");
  topology_.refresh();
  topology_.stop();
  EXPECT_EQ(time_.timers(), 0U);
  time_.run_for(1h);
  EXPECT_THAT(servers_asked(), ElementsAre("a"));
}

}  // namespace
}  // namespace holdfast::redis
