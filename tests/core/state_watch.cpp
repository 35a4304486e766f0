// SPDX-License-Identifier: Apache-2.0
// Watching names at a store that says only that something has changed.

#include "runtime/state_watch.hpp"

#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/virtual_time.hpp"
#include "support/request_form.hpp"

namespace holdfast::runtime {
namespace {

using namespace std::chrono_literals;

class state_watching : public testing::Test {
 protected:
  static lock_state held_by(const std::string& owner, duration left = 10s) {
    lock_state s;
    s.holders.emplace_back();
    s.holders.back().owner = owner;
    s.holders.back().expires_in = left;
    return s;
  }
  void reply(tickets::link::outcome with) {
    const auto handler = std::move(open_.front().second);
    open_.pop_front();
    handler(std::move(with));
  }
  void answer(std::optional<lock_state> state) { reply(tickets::reply{std::move(state)}); }
  void pass() { time_.run_for(10ms); }

  test::virtual_time time_;
  std::deque<std::pair<std::string, tickets::link::on_reply>> open_;
  std::shared_ptr<tickets::listing_state> continued_;  // to go on with, by the last request
  std::vector<std::string> changed_;
  state_watch states_{time_,
                      [this](const tickets::request& r, tickets::link::on_reply handler) {
                        EXPECT_EQ(test::task_of(r), test::task::inspect);
                        continued_ = test::form_of(r).listed;
                        open_.emplace_back(test::form_of(r).name, std::move(handler));
                      },
                      [this](const std::string& name) { changed_.push_back(name); }};
};

TEST_F(state_watching, reports_the_first_look_and_each_difference) {
  states_.add("stock");
  ASSERT_EQ(open_.size(), 1U);
  answer(std::nullopt);
  EXPECT_EQ(changed_.size(), 1U);
  states_.look();
  pass();
  answer(std::nullopt);
  EXPECT_EQ(changed_.size(), 1U) << "nothing of it has changed";
  states_.look();
  pass();
  answer(held_by("a"));
  EXPECT_EQ(changed_.size(), 2U);
  states_.look();
  pass();
  answer(held_by("a", 30s));
  EXPECT_EQ(changed_.size(), 2U) << "a renewal";
  states_.look();
  pass();
  answer(held_by("b"));
  EXPECT_EQ(changed_, (std::vector<std::string>{"stock", "stock", "stock"}));
}

// Whoever watches may have seen it, and has to hear that it is gone.
TEST_F(state_watching, reports_a_claim_that_came_and_went_between_two_looks) {
  states_.add("stock");
  answer(std::nullopt);
  states_.look();
  pass();
  lock_state free;
  free.last_token = fencing_token{1};
  answer(free);
  EXPECT_EQ(changed_.size(), 2U);
  free.last_token = fencing_token{2};
  states_.look();
  pass();
  answer(free);
  EXPECT_EQ(changed_.size(), 3U);
}

TEST_F(state_watching, reports_a_new_value_of_a_leader) {
  states_.add("stock");
  answer(held_by("a"));
  lock_state anew = held_by("a");
  anew.holders.back().claimant.value_revision = 1;
  states_.look();
  pass();
  answer(anew);
  EXPECT_EQ(changed_.size(), 2U);
}

// A change that comes while two names are asked makes each of them look once more, and not each other for
// ever.
TEST_F(state_watching, of_several_names_ends_after_a_change) {
  states_.add("one");
  time_.run_for(6ms);
  states_.add("other");
  states_.look();
  int looks = 0;
  for (; looks < 20 && (!open_.empty() || looks == 0); ++looks) {
    time_.run_for(6ms);  // as long as a reply takes, and longer than a burst
    answer(std::nullopt);
  }
  EXPECT_LE(looks, 4) << "two at the beginning, and two after the change";
  time_.run_for(1s);
  EXPECT_TRUE(open_.empty());
}

TEST_F(state_watching, has_one_look_in_flight_and_one_after_it) {
  states_.add("stock");
  for (int i = 0; i < 5; ++i) {
    states_.look();
    pass();
  }
  EXPECT_EQ(open_.size(), 1U);
  answer(std::nullopt);
  pass();
  ASSERT_EQ(open_.size(), 1U) << "what changed during the look may be missing in it";
  answer(held_by("a"));
  pass();
  EXPECT_TRUE(open_.empty());
  EXPECT_EQ(changed_.size(), 2U);
}

TEST_F(state_watching, of_a_long_queue_looks_part_after_part) {
  states_.add("stock");
  const auto listed = std::make_shared<tickets::listing_state>();
  reply(tickets::reply{tickets::more{listed}});
  ASSERT_EQ(open_.size(), 1U);
  EXPECT_EQ(continued_, listed);
  states_.look();  // during the look
  pass();
  reply(tickets::reply{tickets::more{listed}});
  EXPECT_TRUE(changed_.empty());
  answer(held_by("a"));
  EXPECT_EQ(changed_.size(), 1U);
  pass();
  ASSERT_EQ(open_.size(), 1U) << "what changed may be missing";
  EXPECT_EQ(continued_, nullptr) << "from the beginning";
  reply(tickets::reply{tickets::more{listed, false}});
  EXPECT_TRUE(open_.empty()) << "it would ask for ever";
  EXPECT_EQ(changed_.size(), 2U);
}

TEST_F(state_watching, looks_once_a_burst) {
  states_.add("stock");
  answer(std::nullopt);
  int looks = 0;
  for (int i = 0; i < 100; ++i) {
    states_.look();
    time_.run_for(100us);
    for (; !open_.empty(); ++looks) answer(std::nullopt);
  }
  EXPECT_LE(looks, 4);
  EXPECT_GE(looks, 2);
}

TEST_F(state_watching, reports_what_it_could_not_see_and_all_after_a_gap) {
  states_.add("stock");
  reply(store::no_answer());
  EXPECT_EQ(changed_.size(), 1U);
  states_.look();
  pass();
  answer(held_by("a"));
  EXPECT_EQ(changed_.size(), 2U);
  states_.look_anew();
  pass();
  answer(held_by("a"));
  EXPECT_EQ(changed_.size(), 3U);
}

TEST_F(state_watching, ignores_answers_for_what_is_not_watched_any_more) {
  states_.add("stock");
  states_.remove("stock");
  states_.add("stock");
  ASSERT_EQ(open_.size(), 2U);
  answer(held_by("a"));
  EXPECT_TRUE(changed_.empty());
  answer(held_by("a"));
  EXPECT_EQ(changed_.size(), 1U);
  states_.remove("stock");
  states_.look();
  pass();
  EXPECT_TRUE(open_.empty());
}

}  // namespace
}  // namespace holdfast::runtime
