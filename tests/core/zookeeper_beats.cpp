// SPDX-License-Identifier: Apache-2.0
// What the answers to a session's beats prove.

#include <chrono>
#include <deque>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/zookeeper/protocol/liveness.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

class zookeeper_beats : public testing::Test {
 protected:
  static store::time_point at(std::chrono::milliseconds when) { return store::time_point{} + when; }
  [[nodiscard]] std::optional<store::time_point> beat(std::chrono::milliseconds sent,
                                                      std::chrono::milliseconds answered) {
    return beats_.answered(beats_.sent(at(sent)), at(answered), 100ms);
  }

  beats beats_;
};

TEST_F(zookeeper_beats, prove_the_first_of_three_half_a_tick_apart) {
  EXPECT_FALSE(beat(0ms, 1ms));
  EXPECT_FALSE(beat(50ms, 51ms));
  EXPECT_FALSE(beat(101ms, 102ms)) << "the follower may not have reported the first yet";
  EXPECT_EQ(beat(102ms, 103ms), at(0ms));
  EXPECT_EQ(beat(151ms, 152ms), at(0ms));
  EXPECT_EQ(beat(152ms, 153ms), at(50ms));
}

TEST_F(zookeeper_beats, prove_nothing_where_they_were_held_up_and_came_together) {
  std::vector<std::uint64_t> sent;
  for (int i = 0; i < 20; ++i) sent.push_back(beats_.sent(at(i * 20ms)));
  for (const std::uint64_t each : sent) EXPECT_FALSE(beats_.answered(each, at(400ms), 100ms));
  EXPECT_FALSE(beat(401ms, 402ms)) << "half a tick has not passed since the first answer";
}

TEST_F(zookeeper_beats, prove_a_session_at_once_after_a_stall_that_it_survived) {
  EXPECT_FALSE(beat(0ms, 1ms));
  // The server stands still.
  const auto second = beats_.sent(at(120ms));
  EXPECT_FALSE(beats_.answered(second, at(600ms), 100ms));
  EXPECT_EQ(beat(600ms, 601ms), at(0ms));
}

TEST_F(zookeeper_beats, of_a_former_connection_prove_nothing) {
  const auto former = beats_.sent(at(0ms));
  beats_.clear();
  EXPECT_FALSE(beats_.answered(former, at(1ms), 100ms));
  EXPECT_FALSE(beat(101ms, 102ms));
  EXPECT_FALSE(beat(102ms, 103ms));
}

// ---- what a session makes of them

/// A server that agrees to everything, when the test lets it.
class calm_wire final : public wire {
 public:
  void submit(operation op, on_result done) override { open_.emplace_back(op.path, std::move(done)); }
  void answer() {
    for (auto& [path, done] : std::exchange(open_, {})) done({.code = answer::done, .path = path});
  }

 private:
  std::deque<std::pair<std::string, on_result>> open_;
};

class zookeeper_session_life : public testing::Test {
 protected:
  void connect(duration interval, duration timeout) {
    session_.emplace(time_, wire_, session::settings{{}, layout::curator, interval});
    session_->connected(7, timeout, time_.now());
  }
  /// With answers after 10 ms.
  void serve_for(std::chrono::milliseconds length) {
    for (auto passed = 0ms; passed < length; passed += 10ms) {
      time_.run_for(10ms);
      wire_.answer();
    }
  }
  [[nodiscard]] duration left() const {
    return std::chrono::duration_cast<duration>(*session_->session_until() - time_.now());
  }

  test::virtual_time time_;
  calm_wire wire_;
  std::optional<session> session_;
};

TEST_F(zookeeper_session_life, is_known_for_half_of_the_timeout_at_least) {
  connect(10s, 10s);
  serve_for(20s);
  for (int i = 0; i < 20; ++i) {
    serve_for(370ms);
    EXPECT_GT(left(), 5s);
    EXPECT_LT(left(), 6400ms);
  }
}

// Half a tick of the servers may be a whole quarter of it, and a leader may stand still for a moment.
TEST_F(zookeeper_session_life, is_known_for_less_where_the_servers_made_it_longer_than_was_asked_for) {
  connect(2s, 4s);
  serve_for(8s);
  for (int i = 0; i < 20; ++i) {
    serve_for(150ms);
    EXPECT_GT(left(), 1s);
    EXPECT_LT(left(), 1480ms);
  }
}

TEST_F(zookeeper_session_life, is_known_two_round_trips_after_a_stall) {
  connect(10s, 10s);
  serve_for(20s);
  time_.run_for(6s);
  serve_for(20ms);
  EXPECT_GT(left(), 3s);
}

}  // namespace
}  // namespace holdfast::zookeeper
