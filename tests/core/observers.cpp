// SPDX-License-Identifier: Apache-2.0
// The observers of elections: when they look, and what they do about errors.

#include "lease/observers.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <vector>

#include "core/runner_fixture.hpp"

namespace holdfast {
namespace {

using namespace test;

tickets::reply led_by(std::uint64_t token, const std::string& value) {
  claim_state c;
  c.token = fencing_token{token};
  c.expires_in = 30s;
  c.claimant.pid = 1;
  c.claimant.value = value;
  lock_state s;
  s.holders.push_back(c);
  return std::optional{s};
}

class observers : public testing::Test {
 protected:
  void SetUp() override {
    it.time.turn(
        [&] { id = all.add("boss", [this](observation seen) { reports.push_back(std::move(seen)); }); });
  }
  void look() {
    it.time.turn([&] { all.look(id); });
  }

  runner_fixture it;
  lease_core::observers all{it.time, it.port, 10s};
  lease_core::observers::observer_id id = 0;
  std::vector<observation> reports;
};

TEST_F(observers, look_at_the_name_at_once_and_after_each_notification) {
  ASSERT_EQ(it.pending_tasks(), tasks{task::inspect});
  EXPECT_EQ(form_of(it.link.request()).name, "boss");
  EXPECT_EQ(form_of(it.link.request()).waiters_read, 0U);
  it.answer(led_by(5, "a"));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].leader->value, "a");
  it.time.run_for(100ms);
  look();
  it.answer(led_by(6, "b"));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[1].leader->value, "b");
}

// The reply that is under way may be older than the notification.
TEST_F(observers, look_once_more_after_notifications_during_a_look) {
  look();
  look();
  EXPECT_EQ(it.link.open(), 1U) << "one look at a time";
  it.answer(led_by(5, "a"));
  EXPECT_EQ(it.link.open(), 0U);
  it.time.run_for(10ms);
  EXPECT_EQ(it.link.open(), 1U);
  it.answer(led_by(5, "a"));
  it.time.run_for(900ms);
  EXPECT_EQ(it.link.open(), 0U);
  EXPECT_EQ(reports.size(), 1U);
}

TEST_F(observers, look_without_notifications_too) {
  it.answer(led_by(5, "a"));
  it.time.run_for(1s);
  ASSERT_EQ(it.link.open(), 1U);
  it.answer(tickets::reply{std::optional<lock_state>{}});
  EXPECT_FALSE(reports.at(1).leader);
}

TEST_F(observers, are_bounded_in_what_they_ask) {
  it.answer(led_by(5, "a"));
  for (int each = 0; each < 100; ++each) look();
  EXPECT_EQ(it.link.open(), 0U);
  it.time.run_for(10ms);
  EXPECT_EQ(it.link.open(), 1U);
}

TEST_F(observers, report_errors_and_go_on) {
  it.answer(permanent);
  ASSERT_EQ(reports.size(), 1U);
  ASSERT_TRUE(reports[0].failed);
  EXPECT_EQ(reports[0].failed->code(), errc::unavailable);
  it.time.run_for(1s);
  it.answer(permanent);
  EXPECT_EQ(reports.size(), 1U) << "once";
  it.time.run_for(1s);
  it.answer(led_by(5, "a"));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_FALSE(reports[1].failed);
  EXPECT_EQ(reports[1].leader->value, "a");
}

TEST_F(observers, report_nothing_after_their_end) {
  it.time.turn([&] { all.remove(id); });
  it.answer(led_by(5, "a"));
  look();
  it.time.run_for(10s);
  EXPECT_TRUE(reports.empty());
  EXPECT_EQ(it.link.open(), 0U);
  EXPECT_EQ(it.time.timers(), 0U);
}

TEST_F(observers, report_the_end_of_the_client_last) {
  it.answer(led_by(5, "a"));
  it.time.turn([&] { all.close(); });
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[1].failed->code(), errc::closed);
  look();
  EXPECT_EQ(it.link.open(), 0U);
}

}  // namespace
}  // namespace holdfast
