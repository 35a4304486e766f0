// One request, one reply: the machine behind renewals, releases and questions.

#include "core/retrying_request.hpp"

#include <gtest/gtest.h>
#include <string>

#include "core/samples.hpp"

namespace holdfast {
namespace {

using namespace test;

/// Asks "how many?", and tells what it got.
struct result {
  int reply = -1;
  store::time_point sent;
  bool doubted = false;
};
using machine = store::retrying_request<std::string, int, result>;

class retried_request : public testing::Test {
 protected:
  machine::step feed(const store::event<int>& e) { return it.resume(now, 0, e); }
  machine::step reply(int r) { return feed(store::replied<int>{r}); }
  machine::step fail(const store::request_error& t) { return feed(store::replied<int>{t}); }

  store::time_point now = epoch;
  machine it{"how many?", retry_policy{}.first(10ms).longest(80ms), epoch + 1s,
             [](int r, store::time_point sent, bool doubted) { return result{r, sent, doubted}; },
             [](const store::request_error& t) { return result{-1, {}, t.maybe_executed}; }};
};

TEST_F(retried_request, sends_and_ends_with_the_reply) {
  EXPECT_EQ(feed(store::started{}).send, "how many?");
  now += 30ms;
  const auto s = reply(3);
  ASSERT_TRUE(s.answer);
  EXPECT_EQ(s.answer->reply, 3);
  EXPECT_EQ(s.answer->sent, epoch);
  EXPECT_FALSE(s.answer->doubted);
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.send || s.wake_at);
}

TEST_F(retried_request, waits_for_an_answer_no_longer_than_it_may_try) {
  EXPECT_EQ(feed(store::started{}).wake_at, epoch + 1s);
  now += 1s;
  const auto s = feed(store::woken{});
  ASSERT_TRUE(s.answer);
  EXPECT_EQ(s.answer->reply, -1);
  EXPECT_TRUE(s.finished);
}

TEST_F(retried_request, waits_for_an_answer_longer_than_it_tries_where_it_may) {
  machine once{"how many?", retry_policy{}, store::limits{epoch, epoch + 1s},
               [](int r, store::time_point sent, bool doubted) { return result{r, sent, doubted}; },
               [](const store::request_error& t) { return result{-1, {}, t.maybe_executed}; }};
  machine refused = once;
  EXPECT_EQ(once.resume(now, 0, store::started{}).wake_at, epoch + 1s);
  now += 1s;
  EXPECT_TRUE(once.resume(now, 0, store::woken{}).finished);
  now = epoch;
  EXPECT_TRUE(refused.resume(now, 0, store::started{}).send);
  EXPECT_TRUE(refused.resume(now, 0, store::replied<int>{retryable}).finished) << "it asks once";
}

TEST_F(retried_request, tries_again_after_growing_pauses_and_counts_from_the_last_try) {
  feed(store::started{});
  for (const duration pause : {10ms, 20ms, 40ms, 80ms, 80ms}) {
    const auto s = fail(retryable);
    EXPECT_EQ(s.wake_at, now + pause);
    EXPECT_FALSE(s.answer || s.finished || s.send);
    now += pause;
    EXPECT_EQ(feed(store::woken{}).send, "how many?");
  }
  const auto s = reply(3);
  EXPECT_EQ(s.answer->sent, now);
  EXPECT_FALSE(s.answer->doubted);
}

TEST_F(retried_request, says_that_an_earlier_try_may_have_been_carried_out) {
  feed(store::started{});
  fail(retryable_maybe_executed);
  feed(store::woken{});
  fail(retryable);  // the doubt stays
  feed(store::woken{});
  EXPECT_TRUE(reply(3).answer->doubted);
}

TEST_F(retried_request, ends_in_doubt_when_an_earlier_try_may_have_been_carried_out) {
  feed(store::started{});
  fail(retryable_maybe_executed);
  now = epoch + 1s;
  feed(store::woken{});
  const auto s = fail(retryable);  // this one was not, for sure; which tells nothing about the first
  ASSERT_TRUE(s.answer);
  EXPECT_TRUE(s.answer->doubted);
}

TEST_F(retried_request, ends_without_doubt_when_no_try_was_carried_out) {
  feed(store::started{});
  now = epoch + 1s;
  const auto s = fail(retryable);
  ASSERT_TRUE(s.answer);
  EXPECT_FALSE(s.answer->doubted);
}

TEST_F(retried_request, begins_no_try_after_its_time) {
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

TEST_F(retried_request, does_not_retry_what_will_not_pass) {
  feed(store::started{});
  const auto s = fail(permanent);
  EXPECT_TRUE(s.finished && s.answer);
  EXPECT_FALSE(s.wake_at);
}

TEST_F(retried_request, is_not_moved_by_what_does_not_concern_it) {
  feed(store::started{});
  for (const store::event<int>& e : {store::event<int>{grant_of(3)}, store::event<int>{store::cancelled{}}}) {
    const auto s = feed(e);
    EXPECT_FALSE(s.send || s.wake_at || s.answer || s.finished);
  }
}

/// Counts down to zero, by one for each request; an odd number is no progress.
class request_in_parts : public retried_request {
 protected:
  request_in_parts() {
    it = machine{"how many?",
                 retry_policy{}.first(10ms).longest(80ms),
                 epoch + 1s,
                 [](int r, store::time_point sent, bool doubted) { return result{r, sent, doubted}; },
                 [](const store::request_error& t) { return result{-1, {}, t.maybe_executed}; },
                 [](int r) -> std::optional<store::continuation<std::string>> {
                   if (r == 0) return std::nullopt;
                   return store::continuation<std::string>{"after " + std::to_string(r), r % 2 == 0};
                 }};
  }
};

TEST_F(request_in_parts, waits_anew_for_each_part_of_a_store_that_goes_on) {
  feed(store::started{});
  for (int part = 0; part < 10; ++part) {
    now += 900ms;
    const auto s = reply(20);
    EXPECT_EQ(s.send, "after 20");
    EXPECT_EQ(s.wake_at, now + 1s);
    EXPECT_FALSE(s.answer || s.finished);
  }
  EXPECT_EQ(reply(0).answer.value().reply, 0);
}

TEST_F(request_in_parts, asks_for_the_same_part_again) {
  feed(store::started{});
  reply(20);
  now = *fail(retryable).wake_at;
  EXPECT_EQ(feed(store::woken{}).send, "after 20");
}

TEST_F(request_in_parts, gives_up_a_store_that_does_not_go_on_and_sends_nothing_more) {
  feed(store::started{});
  now += 600ms;
  EXPECT_EQ(reply(1).wake_at, epoch + 1s);
  now += 600ms;
  const auto s = reply(1);
  EXPECT_EQ(s.answer.value().reply, -1);
  EXPECT_TRUE(s.finished);
  EXPECT_FALSE(s.send || s.wake_at);
}

}  // namespace
}  // namespace holdfast
