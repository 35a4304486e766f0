// SPDX-License-Identifier: Apache-2.0
// Which commands have a Redis server report changes, and what becomes of its reports.

#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/redis/link/key_tracking.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

class redis_key_tracking : public testing::Test {
 protected:
  /// The words of the oldest command without a reply; of several commands in one piece.
  [[nodiscard]] std::string next() const {
    if (sent_.empty()) return "";
    const std::string& bytes = sent_.front()->command;
    std::string words;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = bytes.find("\r\n", at);
      const std::string line = bytes.substr(at, end - at);
      if (line.front() != '*' && line.front() != '$') words += (words.empty() ? "" : " ") + line;
      at = end + 2;
    }
    return words;
  }
  void reply(const std::string& error = {}) {
    auto c = std::move(sent_.front());
    sent_.pop_front();
    for (std::size_t i = 0; i < c->replies_due; ++i) {
      value v;
      v.type = value::kind::text;
      c->replies.push_back(v);
    }
    if (!error.empty())
      c->replies.back() = {.type = value::kind::error, .number = 0, .text = error, .items = {}};
    c->complete();
  }
  void lose_connection() {
    is_connected_ = false;
    for (const auto& each : std::exchange(sent_, {})) {
      each->fail(store::no_answer());
      each->complete();
    }
  }
  void connect() {
    is_connected_ = true;
    tracking_.connected();
  }
  void change(const std::string& name) { tracking_.invalidated({.anything = false, .names = {name}}); }
  [[nodiscard]] static std::string tracks(const std::string& name) {
    const std::string side = "{p:" + name + "}\x1f";
    return "CLIENT CACHING YES EXISTS p:" + name + ' ' + side + "fence " + side + "waiters " + side +
           "holders";
  }
  void track_one() {
    tracking_.track("stock", true);
    reply();
    reply();
    changed_.clear();
  }

  test::virtual_time time_;
  const std::string prefix_ = "p:";
  std::deque<std::unique_ptr<pending_command>> sent_;
  std::vector<std::string> changed_;
  int misplaced_ = 0;
  bool is_connected_ = true;
  key_tracking tracking_{time_,
                         prefix_,
                         {[this] { return is_connected_; },
                          [this](std::unique_ptr<pending_command> c) { sent_.push_back(std::move(c)); },
                          [this](const changes& of) {
                            if (of.anything) changed_.emplace_back("anything");
                            changed_.insert(changed_.end(), of.names.begin(), of.names.end());
                          },
                          [this] { ++misplaced_; }}};
};

using reported = std::vector<std::string>;

TEST_F(redis_key_tracking, of_a_name_names_its_keys) {
  tracking_.track("stock", true);
  EXPECT_EQ(next(), "CLIENT TRACKING ON OPTIN");
  reply();
  EXPECT_EQ(next(), tracks("stock"));
  EXPECT_TRUE(changed_.empty());
  reply();
  EXPECT_EQ(changed_, reported{"stock"});
  tracking_.track("other", true);
  EXPECT_EQ(next(), tracks("other"));
  reply();
  tracking_.track("stock", false);
  EXPECT_EQ(next(), "");
  tracking_.track("other", false);
  EXPECT_EQ(next(), "CLIENT TRACKING OFF");
}

// A change between the report and the next command would be lost otherwise.
TEST_F(redis_key_tracking, of_a_name_begins_anew_before_a_change_is_passed_on) {
  track_one();
  change("other");
  EXPECT_EQ(next(), "");
  change("stock");
  EXPECT_TRUE(changed_.empty());
  EXPECT_EQ(next(), tracks("stock"));
  reply();
  EXPECT_EQ(changed_, reported{"stock"});
}

TEST_F(redis_key_tracking, of_a_name_is_done_once_a_burst) {
  track_one();
  std::size_t commands = 0;
  for (int i = 0; i < 100; ++i) {
    change("stock");
    time_.run_for(100us);
    for (; !sent_.empty(); ++commands) reply();
  }
  EXPECT_LE(commands, 4U);
  EXPECT_EQ(changed_.size(), commands);
}

TEST_F(redis_key_tracking, of_all_takes_the_place_of_that_of_names) {
  track_one();
  tracking_.track(std::nullopt, true);
  EXPECT_EQ(next(), "CLIENT TRACKING OFF CLIENT TRACKING ON BCAST PREFIX p: PREFIX {");
  reply();
  EXPECT_EQ(changed_, reported{"anything"});
  change("other");
  EXPECT_EQ(changed_.back(), "other");
  EXPECT_EQ(next(), "");
  tracking_.track(std::nullopt, false);
  EXPECT_EQ(next(), "CLIENT TRACKING OFF CLIENT TRACKING ON OPTIN");
  reply();
  EXPECT_EQ(next(), tracks("stock"));
  reply();
  EXPECT_EQ(changed_.back(), "stock");
}

TEST_F(redis_key_tracking, begins_anew_with_each_connection) {
  track_one();
  change("stock");
  lose_connection();
  tracking_.track("other", true);
  EXPECT_EQ(next(), "");
  EXPECT_TRUE(changed_.empty());
  connect();
  EXPECT_EQ(next(), "CLIENT TRACKING OFF CLIENT TRACKING ON OPTIN");
  reply();
  reply();
  reply();
  EXPECT_EQ(changed_, (reported{"other", "stock"}));
  lose_connection();
  tracking_.track("other", false);
  tracking_.track("stock", false);
  connect();
  EXPECT_EQ(next(), "");
}

TEST_F(redis_key_tracking, of_all_takes_its_place_where_the_server_refuses_it) {
  for (const std::string error :
       {"NOPERM this user has no permissions", "ERR unknown subcommand", "ERR Unknown subcommand"}) {
    lose_connection();
    tracking_.track("stock", true);
    connect();
    reply();
    reply(error);
    EXPECT_EQ(next(), "CLIENT TRACKING OFF CLIENT TRACKING ON BCAST PREFIX p: PREFIX {") << error;
    changed_.clear();
    reply();
    EXPECT_EQ(changed_, reported{"anything"});
    change("stock");
    EXPECT_EQ(changed_.back(), "stock");
  }
}

TEST_F(redis_key_tracking, is_tried_again_where_the_slot_is_elsewhere) {
  track_one();
  change("stock");
  reply("MOVED 1 127.0.0.1:1");
  EXPECT_EQ(misplaced_, 1);
  EXPECT_EQ(changed_, reported{"stock"}) << "it may have changed there";
  EXPECT_EQ(next(), "");
  time_.run_for(1s);
  EXPECT_EQ(next(), tracks("stock"));
  reply();
  EXPECT_EQ(changed_.size(), 2U);
  time_.run_for(10s);
  EXPECT_EQ(next(), "");
}

TEST_F(redis_key_tracking, of_a_name_hears_that_everything_was_flushed) {
  track_one();
  tracking_.invalidated({.anything = true, .names = {}});
  EXPECT_EQ(next(), tracks("stock"));
}

}  // namespace
}  // namespace holdfast::redis
