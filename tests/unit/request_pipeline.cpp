// SPDX-License-Identifier: Apache-2.0
#include "runtime/request_pipeline.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::test {
namespace {

using numbered_outcome = std::variant<int, store::request_error>;

struct numbered_request final : runtime::pending_request<numbered_outcome> {
  int number = 0;
};
using numbered_pipeline = runtime::request_pipeline<numbered_request>;

/// "3 replied 3" or "3 failed": in the order in which handlers ran.
using handler_journal = std::vector<std::string>;

std::unique_ptr<numbered_request> numbered(int number, handler_journal& heard) {
  auto r = std::make_unique<numbered_request>();
  r->number = number;
  r->handler = [number, &heard](const numbered_outcome& o) {
    const int* const reply = std::get_if<int>(&o);
    heard.push_back(std::to_string(number) +
                    (reply == nullptr ? " failed" : " replied " + std::to_string(*reply)));
  };
  return r;
}

store::request_error connection_broke() { return {{errc::unavailable, "broken"}, true, true}; }

TEST(request_pipeline, a_handler_may_push_the_next_request) {
  handler_journal heard;
  numbered_pipeline pipeline;
  auto r = std::make_unique<numbered_request>();
  r->handler = [&](const numbered_outcome&) { pipeline.push(numbered(2, heard)); };
  pipeline.push(std::move(r));
  ASSERT_NE(pipeline.start_next(1), nullptr);
  pipeline.first_in_flight()->outcome = 1;
  pipeline.finish_first();
  pipeline.run_handlers();
  EXPECT_EQ(pipeline.queued(), 1U);
}

TEST(request_pipeline, gives_back_a_request_that_is_queued_and_none_that_is_in_flight) {
  handler_journal heard;
  numbered_pipeline pipeline;
  for (const int number : {1, 2, 3}) pipeline.push(numbered(number, heard));
  ASSERT_NE(pipeline.start_next(1), nullptr);
  const auto take = [&](int number) {
    return pipeline.take_queued([number](const numbered_request& r) { return r.number == number; });
  };
  EXPECT_EQ(take(1), nullptr);
  const auto taken = take(3);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->number, 3);
  EXPECT_EQ(pipeline.queued(), 1U);
  EXPECT_EQ(pipeline.in_flight(), 1U);
}

/// A pipeline of plain lists of numbers.
class reference_pipeline {
 public:
  std::deque<int> queued;
  std::deque<int> in_flight;
  std::vector<std::pair<int, bool>> completed;  // and whether there is a reply

  void finish_first(bool with_reply) {
    completed.emplace_back(in_flight.front(), with_reply);
    in_flight.pop_front();
  }
  void restart(std::size_t index) {
    in_flight.push_back(completed.at(index).first);
    completed.erase(completed.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void run_handlers(handler_journal& heard) {
    for (const auto& [number, has_reply] : completed) {
      heard.push_back(std::to_string(number) +
                      (has_reply ? " replied " + std::to_string(number) : " failed"));
    }
    completed.clear();
  }
};

/// Both at once, step by step, with a schedule that is drawn from a seed.
class pipeline_schedule {
 public:
  explicit pipeline_schedule(unsigned seed) : random_{seed} {}

  void step() {
    switch (draw(8)) {
      case 0:
      case 1:
      case 2: push(); break;
      case 3:
      case 4: start_next(); break;
      case 5: read(); break;
      case 6: deliver(); break;
      case 7: draw(4) == 0 ? disconnect() : fail_queued(); break;
    }
    compare();
  }
  void finish() {
    disconnect();
    fail_queued();
    compare();
    EXPECT_EQ(heard_.size(), static_cast<std::size_t>(pushed_));
  }

 private:
  std::size_t draw(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>{0, below - 1}(random_);
  }

  void push() {
    pipeline_.push(numbered(pushed_, heard_));
    expected_.queued.push_back(pushed_++);
  }
  void start_next() {
    const std::size_t depth = draw(6);
    const bool has_room = !expected_.queued.empty() && expected_.in_flight.size() < depth;
    const numbered_request* const started = pipeline_.start_next(depth);
    ASSERT_EQ(started != nullptr, has_room);
    if (!has_room) return;
    EXPECT_EQ(started->number, expected_.queued.front());
    expected_.in_flight.push_back(expected_.queued.front());
    expected_.queued.pop_front();
  }
  /// Replies to some, of which some have more to send.
  void read() {
    for (std::size_t replies = draw(4); replies > 0 && pipeline_.first_in_flight() != nullptr; --replies) {
      numbered_request& first = *pipeline_.first_in_flight();
      first.outcome = first.number;
      pipeline_.finish_first();
      expected_.finish_first(true);
    }
    if (expected_.completed.empty() || draw(3) != 0) return;
    const std::size_t index = draw(expected_.completed.size());
    pipeline_.completed().at(index)->outcome.reset();
    pipeline_.restart(index);
    expected_.restart(index);
  }
  void deliver() {
    pipeline_.run_handlers();
    pipeline_.forget_completed();
    expected_.run_handlers(expected_heard_);
  }
  void disconnect() {
    pipeline_.finish_all();
    pipeline_.fail_completed(connection_broke());
    while (!expected_.in_flight.empty()) expected_.finish_first(false);
    deliver();
  }
  void fail_queued() {
    for (const auto& failed : pipeline_.fail_queued(connection_broke())) failed->complete();
    for (const int number : std::exchange(expected_.queued, {})) {
      expected_heard_.push_back(std::to_string(number) + " failed");
    }
  }

  void compare() const {
    EXPECT_EQ(pipeline_.queued(), expected_.queued.size());
    EXPECT_EQ(pipeline_.in_flight(), expected_.in_flight.size());
    const numbered_request* const first = pipeline_.first_in_flight();
    ASSERT_EQ(first == nullptr, expected_.in_flight.empty());
    if (first != nullptr) {
      EXPECT_EQ(first->number, expected_.in_flight.front());
    }
    EXPECT_TRUE(std::equal(pipeline_.completed().begin(), pipeline_.completed().end(),
                           expected_.completed.begin(), expected_.completed.end(),
                           [](const auto& r, const auto& e) { return r->number == e.first; }));
    EXPECT_EQ(heard_, expected_heard_);
  }

  std::mt19937 random_;
  int pushed_ = 0;
  handler_journal heard_;
  handler_journal expected_heard_;
  numbered_pipeline pipeline_;
  reference_pipeline expected_;
};

// Each request is in one stage, and its handler runs once, with its own reply, in every order of events.
TEST(request_pipeline_random, does_as_plain_lists_do) {
  for (unsigned seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    pipeline_schedule schedule{seed};
    for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i) schedule.step();
    schedule.finish();
  }
}

}  // namespace
}  // namespace holdfast::test
