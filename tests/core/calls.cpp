// SPDX-License-Identifier: Apache-2.0
// One request, one reply: the machine behind renewals, releases and questions.

#include <gtest/gtest.h>

#include "core/call.hpp"
#include "core/samples.hpp"

namespace holdfast {
namespace {

using namespace test;

/// Asks for a count, and says what it got.
struct counting {
  struct result {
    int reply = -1;
    store::time_point sent;
    bool doubted = false;
  };
  [[nodiscard]] tickets::request next(store::time_point /*now*/) const {
    request_form r;
    r.kind = task::inspect;
    r.waiters_read = parts;
    return r;
  }
  [[nodiscard]] tickets::verdict<result> read(const tickets::reply& r, store::time_point sent, bool doubted) {
    if (const auto* const more = std::get_if<tickets::more>(&r)) {
      ++parts;
      return tickets::part{more->progress};
    }
    return result{static_cast<int>(std::get<tickets::count>(r).value), sent, doubted};
  }
  [[nodiscard]] result give_up(const store::request_error& t) const { return {-1, {}, t.maybe_executed}; }
  [[nodiscard]] static bool outlasts(const failure& /*refusal*/) { return false; }

  std::size_t parts = 0;  // received
};
using machine = tickets::call<counting>;

class calls : public testing::Test {
 protected:
  machine::step feed(const store::event<tickets::reply>& e) { return it.resume(now, 0, e); }
  machine::step reply(tickets::reply r) { return feed(store::replied<tickets::reply>{std::move(r)}); }
  machine::step reply(std::size_t counted) { return reply(tickets::count{counted}); }
  machine::step fail(const store::request_error& t) { return feed(store::replied<tickets::reply>{t}); }
  static bool asks(const machine::step& s) { return s.send && task_of(*s.send) == task::inspect; }

  store::time_point now = epoch;
  machine it{{}, retry_policy{}.first(10ms).longest(80ms), epoch + 1s};
};

TEST_F(calls, sends_and_ends_with_the_reply) {
  EXPECT_TRUE(asks(feed(store::started{})));
  now += 30ms;
  const auto s = reply(3);
  ASSERT_TRUE(s.answer);
  EXPECT_EQ(s.answer->reply, 3);
  EXPECT_EQ(s.answer->sent, epoch);
  EXPECT_FALSE(s.answer->doubted);
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.send || s.wake_at);
}

TEST_F(calls, waits_for_an_answer_no_longer_than_it_may_try) {
  EXPECT_EQ(feed(store::started{}).wake_at, epoch + 1s);
  now += 1s;
  const auto s = feed(store::woken{});
  ASSERT_TRUE(s.answer);
  EXPECT_EQ(s.answer->reply, -1);
  EXPECT_TRUE(s.finished);
}

TEST_F(calls, waits_for_an_answer_longer_than_it_tries_where_it_may) {
  machine once{{}, retry_policy{}, tickets::limits{epoch, epoch + 1s}};
  machine refused = once;
  EXPECT_EQ(once.resume(now, 0, store::started{}).wake_at, epoch + 1s);
  now += 1s;
  EXPECT_TRUE(once.resume(now, 0, store::woken{}).finished);
  now = epoch;
  EXPECT_TRUE(refused.resume(now, 0, store::started{}).send);
  EXPECT_TRUE(refused.resume(now, 0, store::replied<tickets::reply>{retryable}).finished) << "it asks once";
}

TEST_F(calls, tries_again_after_growing_pauses_and_counts_from_the_last_try) {
  feed(store::started{});
  for (const duration pause : {10ms, 20ms, 40ms, 80ms, 80ms}) {
    const auto s = fail(retryable);
    EXPECT_EQ(s.wake_at, now + pause);
    EXPECT_FALSE(s.answer || s.finished || s.send);
    now += pause;
    EXPECT_TRUE(asks(feed(store::woken{})));
  }
  const auto s = reply(3);
  EXPECT_EQ(s.answer->sent, now);
  EXPECT_FALSE(s.answer->doubted);
}

TEST_F(calls, says_that_an_earlier_try_may_have_been_carried_out) {
  feed(store::started{});
  fail(retryable_maybe_executed);
  feed(store::woken{});
  fail(retryable);  // the doubt stays
  feed(store::woken{});
  EXPECT_TRUE(reply(3).answer->doubted);
}

TEST_F(calls, ends_in_doubt_when_an_earlier_try_may_have_been_carried_out) {
  feed(store::started{});
  fail(retryable_maybe_executed);
  now = epoch + 1s;
  feed(store::woken{});
  const auto s = fail(retryable);  // this one was not, for sure; which tells nothing about the first
  ASSERT_TRUE(s.answer);
  EXPECT_TRUE(s.answer->doubted);
}

TEST_F(calls, ends_without_doubt_when_no_try_was_carried_out) {
  feed(store::started{});
  now = epoch + 1s;
  const auto s = fail(retryable);
  ASSERT_TRUE(s.answer);
  EXPECT_FALSE(s.answer->doubted);
}

TEST_F(calls, begins_no_try_after_its_time) {
  feed(store::started{});
  now = epoch + 1s - 10ms;
  EXPECT_EQ(fail(retryable).wake_at, epoch + 1s) << "just in time";
  now = epoch + 1s;
  feed(store::woken{});
  const auto s = fail(retryable);
  EXPECT_TRUE(s.finished);
  EXPECT_EQ(s.answer->reply, -1);
  EXPECT_FALSE(s.wake_at);
}

TEST_F(calls, does_not_retry_what_will_not_pass) {
  feed(store::started{});
  const auto s = fail(permanent);
  EXPECT_TRUE(s.finished && s.answer);
  EXPECT_FALSE(s.wake_at);
}

TEST_F(calls, is_not_moved_by_what_does_not_concern_it) {
  feed(store::started{});
  for (const store::event<tickets::reply>& e :
       {store::event<tickets::reply>{grant_of(3)}, store::event<tickets::reply>{store::cancelled{}}}) {
    const auto s = feed(e);
    EXPECT_FALSE(s.send || s.wake_at || s.answer || s.finished);
  }
}

TEST_F(calls, of_several_parts_wait_anew_for_each_of_a_store_that_goes_on) {
  feed(store::started{});
  for (std::size_t part = 1; part <= 10; ++part) {
    now += 900ms;
    const auto s = reply(tickets::more{nullptr, true});
    EXPECT_EQ(form_of(s.send.value()).waiters_read, part);
    EXPECT_EQ(s.wake_at, now + 1s);
    EXPECT_FALSE(s.answer || s.finished);
  }
  EXPECT_EQ(reply(3).answer.value().reply, 3);
}

TEST_F(calls, of_several_parts_ask_for_the_same_part_again) {
  feed(store::started{});
  reply(tickets::more{nullptr, true});
  now = *fail(retryable).wake_at;
  EXPECT_EQ(form_of(feed(store::woken{}).send.value()).waiters_read, 1U);
}

TEST_F(calls, of_several_parts_give_up_a_store_that_does_not_go_on_and_send_nothing_more) {
  feed(store::started{});
  now += 600ms;
  EXPECT_EQ(reply(tickets::more{nullptr, false}).wake_at, epoch + 1s);
  now += 600ms;
  const auto s = reply(tickets::more{nullptr, false});
  EXPECT_EQ(s.answer.value().reply, -1);
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.send || s.wake_at);
}

}  // namespace
}  // namespace holdfast
