// SPDX-License-Identifier: Apache-2.0
// How a client has a database server notify it of changes of the names that it watches.

#include "stores/sql/link/change_tracking.hpp"

#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "core/virtual_time.hpp"
#include "support/request_form.hpp"

namespace holdfast::sql {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const store::watched all{};
const store::watched stock{"stock"};
const store::watched other{"other"};

class change_tracking_ : public testing::Test {
 protected:
  struct sent_call {
    call request;
    change_tracking::rows_handler on_rows;
  };

  change_tracking::actions actions() {
    change_tracking::actions a;
    a.inspect = [this](const tickets::request& r, const tickets::link::on_reply& handler) {
      inspected_.push_back(test::form_of(r).name);
      lock_state s;
      s.last_token = fencing_token{++changes_};
      time_.at(time_.now(), [handler, s] { handler(tickets::reply{std::optional{s}}); });
    };
    a.send = [this](call c, change_tracking::rows_handler on_rows) {
      sent_.push_back({std::move(c), std::move(on_rows)});
    };
    a.notified_for = [this] { return notified_for_; };
    a.ring = [this](const store::watched& target) { rung_.push_back(target); };
    a.flush = [] {};
    return a;
  }
  /// The server answers the first call: a bucket, or nothing but that it was called.
  void answer(sql::value with = std::string{}) {
    const auto first = std::move(sent_.front());
    sent_.pop_front();
    if (first.on_rows) first.on_rows({{std::move(with)}});
  }
  std::vector<std::string> calls() {
    std::vector<std::string> all_sent;
    for (const auto& each : sent_) {
      all_sent.push_back(each.request.routine);
      if (each.request.in.empty()) continue;
      const auto& in = each.request.in.front();
      all_sent.back() += in.type == parameter::kind::number ? ' ' + std::to_string(in.number) : ' ' + in.text;
    }
    return all_sent;
  }
  void forget() {
    rung_.clear();
    inspected_.clear();
  }
  /// Watched, answered, and past the look at what was in progress then.
  void settle(const store::watched& target, std::int64_t bucket = 0) {
    tracking_.track(target, true);
    answer(target ? sql::value{bucket} : sql::value{std::string{}});
    time_.run_for(5s + 10ms);
    forget();
  }

  test::virtual_time time_;
  std::optional<duration> notified_for_ = 60s;
  std::deque<sent_call> sent_;
  std::vector<store::watched> rung_;
  std::vector<std::string> inspected_;
  std::uint64_t changes_ = 0;
  change_tracking tracking_{time_, 5s, actions()};
};

TEST_F(change_tracking_, looks_twice_a_second_until_the_server_notifies_and_once_more) {
  tracking_.track(stock, true);
  EXPECT_THAT(calls(), ElementsAre("watch_name stock"));
  forget();
  time_.run_for(2s);
  EXPECT_EQ(inspected_.size(), 4U);
  answer(std::int64_t{7});
  time_.run_for(10ms);
  forget();
  time_.run_for(4900ms);
  EXPECT_THAT(inspected_, IsEmpty());
  time_.run_for(200ms);
  EXPECT_EQ(inspected_.size(), 1U) << "calls that were in progress then are over";
  time_.run_for(10s);
  EXPECT_EQ(inspected_.size(), 1U);
}

TEST_F(change_tracking_, looks_twice_a_second_where_no_server_notifies) {
  notified_for_.reset();
  tracking_.track(all, true);
  tracking_.track(stock, true);
  EXPECT_THAT(calls(), IsEmpty());
  forget();
  time_.run_for(3s);
  EXPECT_EQ(inspected_.size(), 6U);
  EXPECT_EQ(std::count(rung_.begin(), rung_.end(), all), 6);
  tracking_.track(stock, false);
  tracking_.track(all, false);
  forget();
  time_.run_for(3s);
  EXPECT_THAT(rung_, IsEmpty());
}

// A store without tables answers without rows.
TEST_F(change_tracking_, looks_on_while_there_are_no_routines) {
  tracking_.track(stock, true);
  const auto first = std::move(sent_.front());
  sent_.pop_front();
  first.on_rows({});
  forget();
  time_.run_for(10s);
  EXPECT_EQ(inspected_.size(), 20U);
  time_.run_for(11s);
  EXPECT_THAT(calls(), ElementsAre("watch_name stock")) << "they may have been made";
}

TEST_F(change_tracking_, looks_at_the_names_of_a_bucket_alone) {
  settle(all);
  settle(stock, 7);
  settle(other, 8);
  changes received;
  received.buckets = {8};
  tracking_.notified(received);
  time_.run_for(10ms);
  EXPECT_THAT(inspected_, ElementsAre("other"));
  EXPECT_THAT(rung_, ElementsAre(other));
  forget();
  received = {};
  received.of_any_name = true;
  tracking_.notified(received);
  time_.run_for(10ms);
  EXPECT_THAT(rung_, ElementsAre(all)) << "names have channels of their own";
  EXPECT_THAT(inspected_, IsEmpty());
}

TEST_F(change_tracking_, asks_again_at_a_third_of_the_time) {
  settle(all);
  settle(stock, 7);
  time_.run_for(20s);
  EXPECT_THAT(calls(), ElementsAre("watch", "watch_name stock"));
  answer();
  answer(std::int64_t{7});
  time_.run_for(100ms);
  EXPECT_THAT(inspected_, IsEmpty()) << "it was notified all the time";
}

TEST_F(change_tracking_, asks_once_for_the_names_of_a_bucket) {
  settle(stock, 7);
  settle(other, 7);
  time_.run_for(20s);
  ASSERT_THAT(calls(), ElementsAre("watch_name other"));
  answer(std::int64_t{7});
  for (int i = 0; i < 5; ++i) {
    time_.run_for(20s);
    ASSERT_EQ(calls().size(), 1U);
    answer(std::int64_t{7});
  }
  EXPECT_THAT(inspected_, IsEmpty()) << "both were notified all the time";
}

// The server may have ceased to notify, and what happened then is told by nobody.
TEST_F(change_tracking_, looks_again_where_the_server_has_refused_to_go_on) {
  settle(stock, 7);
  time_.run_for(20s);
  ASSERT_EQ(sent_.size(), 1U);
  sent_.clear();  // without an answer
  time_.run_for(20s);
  sent_.clear();
  time_.run_for(15s);
  forget();
  time_.run_for(10s);
  EXPECT_FALSE(inspected_.empty());
  while (!sent_.empty()) answer(std::int64_t{7});
  time_.run_for(6s);
  forget();
  time_.run_for(10s);
  EXPECT_THAT(inspected_, IsEmpty()) << "it is notified again";
}

TEST_F(change_tracking_, leaves_a_bucket_once_no_watched_name_can_need_it) {
  settle(stock, 7);
  settle(other, 7);
  tracking_.track(stock, false);
  EXPECT_THAT(calls(), IsEmpty()) << "the other name is in it";
  tracking_.track(store::watched{"third"}, true);
  tracking_.track(other, false);
  EXPECT_THAT(calls(), ElementsAre("watch_name third")) << "which may be in it";
  answer(std::int64_t{9});
  EXPECT_THAT(calls(), ElementsAre("unwatch_names 7"));
  answer();
  tracking_.track(store::watched{"third"}, false);
  EXPECT_THAT(calls(), ElementsAre("unwatch_names 9"));
}

TEST_F(change_tracking_, leaves_the_bucket_of_a_name_that_was_removed_before_the_answer) {
  tracking_.track(stock, true);
  tracking_.track(stock, false);
  answer(std::int64_t{7});
  EXPECT_THAT(calls(), ElementsAre("unwatch_names 7"));
}

TEST_F(change_tracking_, begins_anew_on_a_new_connection) {
  settle(all);
  settle(stock, 7);
  tracking_.begin_anew();
  time_.run_for(10ms);
  EXPECT_THAT(calls(), ElementsAre("watch", "watch_name stock"));
  EXPECT_THAT(rung_, ElementsAre(stock)) << "it may have changed meanwhile";
  forget();
  time_.run_for(1s);
  EXPECT_EQ(inspected_.size(), 2U) << "until the server notifies";
}

TEST_F(change_tracking_, ends_with_the_last_watch) {
  settle(all);
  tracking_.track(all, false);
  EXPECT_THAT(calls(), ElementsAre("untrack"));
  answer();
  time_.run_for(60s);
  EXPECT_THAT(calls(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::sql
