// SPDX-License-Identifier: Apache-2.0
// How a client learns of grants from a server that sends it no notifications.

#include "stores/sql/link/claim_polling.hpp"

#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/sql/protocol/notification.hpp"
#include "support/request_form.hpp"

namespace holdfast::sql {
namespace {

using namespace std::chrono_literals;
using store::notification_kind;
using test::task;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A question as its places say it: "name token", and "held" before those of holds; last, how many rows the
/// answer before had, if any.
call written(const poll_question& of) {
  std::vector<parameter> places;
  for (const auto& [name, token] : of.places) {
    places.push_back(parameter::of_text(name + ' ' + std::to_string(token)));
  }
  if (!of.seen.empty()) places.push_back(parameter::of_text(std::to_string(of.seen.size()) + " seen"));
  return {of.is_held ? "held" : "poll", std::move(places)};
}

tickets::place place_of(fencing_token token, bool is_granted = false) {
  tickets::place at;
  at.token = token;
  at.granted = is_granted;
  return at;
}

class claim_polling_ : public testing::Test {
 protected:
  struct sent_call {
    store::time_point at;
    call request;
    claim_polling::answer_handler on_answer;
  };

  claim_polling::actions actions() {
    return {.send =
                [this](call c, claim_polling::answer_handler on_answer) {
                  sent_.push_back({time_.now(), std::move(c), std::move(on_answer)});
                },
            .notify = [this](const store::notification& n) { notified_.push_back(n); },
            .flush = [this] { ++flushes_; }};
  }
  owner_id owner() { return time_.new_owner(); }
  static test::request_form form(task kind, const std::string& name, const owner_id& by) {
    test::request_form f;
    f.kind = kind;
    f.name = name;
    f.owner = by;
    f.wait = true;
    f.ttl = 30s;
    return f;
  }
  void reply(const test::request_form& to, const tickets::reply& with) {
    polling_.answered(to.request(), with);
  }
  /// A claim takes a place in the queue.
  owner_id begin_to_wait(const std::string& name, std::uint64_t token) {
    const owner_id by = owner();
    reply(form(task::acquire, name, by), place_of(fencing_token{token}));
    return by;
  }
  /// The server answers the oldest call.
  void answer(const std::vector<row>& rows = {}) {
    const auto first = std::move(sent_.front());
    sent_.pop_front();
    first.on_answer(&rows);
  }
  void refuse() {
    const auto first = std::move(sent_.front());
    sent_.pop_front();
    first.on_answer(nullptr);
  }
  static row said(const owner_id& of, std::int64_t token) { return {std::string{of.bytes()}, token}; }
  std::vector<std::string> polled(std::size_t index = 0) {
    std::vector<std::string> places;
    for (const auto& each : sent_.at(index).request.in) places.push_back(each.text);
    return places;
  }
  /// Polls that are answered at once, for so long. \return when they were sent.
  std::vector<store::time_point> poll_for(duration length) {
    std::vector<store::time_point> moments;
    const auto until = time_.now() + length;
    while (time_.next_timer() <= until) {
      time_.run_until(time_.next_timer());
      for (; !sent_.empty(); answer()) moments.push_back(sent_.front().at);
    }
    time_.run_until(until);
    return moments;
  }

  test::virtual_time time_;
  std::deque<sent_call> sent_;
  std::vector<store::notification> notified_;
  int flushes_ = 0;
  claim_polling polling_{time_, time_.new_owner(), {100ms, &written}, 5s, actions()};
};

TEST_F(claim_polling_, sends_nothing_while_no_claim_waits) {
  reply(form(task::acquire, "stock", owner()), place_of(fencing_token{1}, true));
  reply(form(task::acquire, "stock", owner()), tickets::refused{});
  reply(form(task::release, "stock", owner()), tickets::done{});
  EXPECT_THAT(poll_for(1h), IsEmpty());
  EXPECT_EQ(time_.timers(), 0);
}

TEST_F(claim_polling_, asks_once_for_all_that_wait) {
  for (std::uint64_t token = 1; token <= 300; ++token) {
    begin_to_wait("name " + std::to_string(token % 3), token);
  }
  time_.run_for(10ms);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_THAT(polled(), ElementsAre("name 0 3", "name 1 1", "name 2 2")) << "the first of each name";
  EXPECT_EQ(flushes_, 1);
  time_.run_for(1s);
  EXPECT_THAT(sent_, SizeIs(1)) << "until it has the answer";
}

TEST_F(claim_polling_, puts_no_poll_off_for_those_who_come_later) {
  for (std::uint64_t token = 1; token <= 100; ++token) {
    begin_to_wait("stock", token);
    time_.run_for(1ms);
  }
  EXPECT_THAT(sent_, SizeIs(1));
}

TEST_F(claim_polling_, grows_slower_up_to_its_bound_with_jitter) {
  begin_to_wait("stock", 1);
  const auto moments = poll_for(10s);
  ASSERT_GT(moments.size(), 100);
  EXPECT_LE(moments[1] - moments[0], 10ms);
  std::set<duration> intervals;
  for (std::size_t i = 10; i < moments.size(); ++i) {
    const auto interval = std::chrono::duration_cast<duration>(moments[i] - moments[i - 1]);
    EXPECT_GE(interval, 50ms);
    EXPECT_LE(interval, 100ms);
    intervals.insert(interval);
  }
  EXPECT_GT(intervals.size(), moments.size() / 2);
}

TEST_F(claim_polling_, is_fast_again_when_a_claim_is_granted) {
  const owner_id first = begin_to_wait("stock", 1);
  begin_to_wait("other", 2);
  poll_for(10s);
  time_.run_until(time_.next_timer());
  answer({said(first, 1)});
  EXPECT_LE(time_.next_timer() - time_.now(), 10ms);
  ASSERT_THAT(notified_, SizeIs(1));
  EXPECT_EQ(notified_[0].kind, notification_kind::granted);
  EXPECT_EQ(notified_[0].owner, first);
  EXPECT_EQ(notified_[0].token, fencing_token{1});
}

TEST_F(claim_polling_, stays_slow_when_it_hears_again_who_is_the_first) {
  const owner_id first = begin_to_wait("stock", 1);
  poll_for(10s);
  time_.run_until(time_.next_timer());
  answer({said(first, 0)});
  EXPECT_EQ(notified_.at(0).kind, notification_kind::first);
  EXPECT_GE(time_.next_timer() - time_.now(), 50ms);
}

TEST_F(claim_polling_, asks_at_once_where_this_client_frees_what_it_waits_for) {
  begin_to_wait("stock", 1);
  poll_for(10s);
  reply(form(task::release, "other", owner()), tickets::done{});
  EXPECT_GT(time_.next_timer(), time_.now());
  reply(form(task::release, "stock", owner()), tickets::done{});
  EXPECT_EQ(time_.next_timer(), time_.now());
}

TEST_F(claim_polling_, ends_with_the_wait) {
  const owner_id granted = begin_to_wait("stock", 1);
  const owner_id withdrawn = begin_to_wait("stock", 2);
  const owner_id gone = begin_to_wait("stock", 3);
  reply(form(task::look, "stock", granted), place_of(fencing_token{1}, true));
  time_.run_for(10ms);
  EXPECT_THAT(polled(), ElementsAre("stock 2"));
  answer();
  polling_.sent(form(task::withdraw, "stock", withdrawn).request());
  reply(form(task::look, "stock", gone), tickets::nothing{});
  EXPECT_THAT(poll_for(1h), IsEmpty());
}

TEST_F(claim_polling_, goes_on_while_a_look_fails) {
  const owner_id by = begin_to_wait("stock", 1);
  polling_.answered(form(task::look, "stock", by).request(), store::no_answer());
  EXPECT_THAT(poll_for(1s), SizeIs(testing::Gt(5)));
}

TEST_F(claim_polling_, knows_one_place_of_a_claim) {
  const owner_id by = begin_to_wait("stock", 1);
  reply(form(task::look, "stock", by), place_of(fencing_token{7}));
  time_.run_for(10ms);
  EXPECT_THAT(polled(), ElementsAre("stock 7"));
}

TEST_F(claim_polling_, takes_many_names_in_turn) {
  for (std::uint64_t token = 1; token <= most_polled + 100; ++token)
    begin_to_wait(std::to_string(token), token);
  time_.run_for(10ms);
  EXPECT_THAT(polled(), SizeIs(most_polled));
  std::set<std::string> names;
  for (const auto& each : polled()) names.insert(each);
  answer();
  time_.run_for(20ms);
  for (const auto& each : polled()) names.insert(each);
  EXPECT_THAT(names, SizeIs(most_polled + 100));
}

// A lock on a row, say. The interval is no shorter for that.
TEST_F(claim_polling_, asks_again_after_its_interval_where_the_server_refuses) {
  begin_to_wait("stock", 1);
  poll_for(10s);
  time_.run_until(time_.next_timer());
  ASSERT_THAT(sent_, SizeIs(1));
  refuse();
  EXPECT_GE(time_.next_timer() - time_.now(), 50ms);
  time_.run_for(100ms);
  EXPECT_THAT(sent_, SizeIs(1));
}

// A call that the link could not send has no answer.
TEST_F(claim_polling_, asks_again_where_no_answer_comes) {
  begin_to_wait("stock", 1);
  time_.run_for(10ms);
  EXPECT_THAT(sent_, SizeIs(1));
  time_.run_for(5s + 100ms);
  EXPECT_THAT(sent_, SizeIs(2));
  polling_.begin_anew();
  time_.run_for(10ms);
  EXPECT_THAT(sent_, SizeIs(3));
}

TEST_F(claim_polling_, asks_for_requests_to_release_after_a_renewal) {
  const owner_id by = owner();
  auto renewal = form(task::renew, {}, {});
  renewal.holds = {{"a", by, fencing_token{1}, 30s}, {"b", owner(), fencing_token{2}, 30s}};
  reply(renewal, tickets::kept{{true, false}});
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_.front().request.routine, "held");
  EXPECT_THAT(polled(), ElementsAre("a 1"));
  answer({said(by, release_requested)});
  EXPECT_EQ(notified_.at(0).kind, notification_kind::release_requested);
  EXPECT_EQ(time_.timers(), 0);
}

TEST_F(claim_polling_, says_of_each_kind_what_it_has_seen) {
  const owner_id first = begin_to_wait("stock", 1);
  time_.run_for(10ms);
  answer({said(first, 0)});
  auto renewal = form(task::renew, {}, {});
  renewal.holds = {{"a", owner(), fencing_token{1}, 30s}};
  reply(renewal, tickets::kept{{true}});
  EXPECT_THAT(polled(), ElementsAre("a 1"));
  answer();
  time_.run_for(20ms);
  EXPECT_THAT(polled(), ElementsAre("stock 1", "1 seen"));
}

TEST_F(claim_polling_, takes_nothing_of_an_unexpected_form) {
  begin_to_wait("stock", 1);
  time_.run_for(10ms);
  answer({{std::string{"short"}, std::int64_t{1}}, {std::int64_t{1}}, {}});
  EXPECT_THAT(notified_, IsEmpty());
}

TEST_F(claim_polling_, stops) {
  begin_to_wait("stock", 1);
  polling_.stop();
  EXPECT_THAT(poll_for(1h), IsEmpty());
}

}  // namespace
}  // namespace holdfast::sql
