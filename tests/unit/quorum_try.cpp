// SPDX-License-Identifier: Apache-2.0
// A claim on several servers that does not wait: when it is refused, and when it waits for votes that are
// split.

#include <string>
#include <vector>

#include "unit/quorum_contender.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;

class quorum_try : public quorum_contender {
 protected:
  explicit quorum_try(std::size_t servers = 5) : quorum_contender{servers, false} {}

  static tickets::place behind() {
    auto at = granted(0, 0);
    at.vote->clock = clock - 5s;
    return at;
  }
  static void expect_refused(const contender::step& s) {
    EXPECT_NE(answer_in<tickets::refused>(s), nullptr);
    EXPECT_TRUE(s.is_over) << "the grant of a minority has to be withdrawn";
  }
  /// Two votes, and two others that have one and two.
  void split() {
    ask();
    hear({0, 1}, granted());
    hear({2, 3}, votes::refused("a"));
    EXPECT_FALSE(hear(4, votes::refused("b")).answer);
    ASSERT_EQ(addressees(task::vote), (std::set<std::size_t>{2, 3, 4}));
    EXPECT_TRUE(form_of(sent(2)).wait);
  }
};

/// On three servers.
class quorum_try_of_three : public quorum_try {
 protected:
  quorum_try_of_three() : quorum_try{3} {}
};

const tickets::reply pause = tickets::paused{{errc::unavailable, "started 1 s ago"}};

TEST_F(quorum_try, ends_with_the_answer_that_decides) {
  const tickets::reply yes = granted();
  const tickets::reply a = votes::refused("a");
  const tickets::reply b = votes::refused("b");
  const tickets::reply other = tickets::other_capacity{3};
  const struct {
    const char* name;
    std::vector<tickets::reply> answers;  // of the servers, in their order; the last one decides
    bool is_granted = false;
    bool is_over = true;
  } all[] = {
      {"a majority names one holder", {yes, a, a, a}},
      {"the same without a vote", {a, b, a}},
      {"a holder has a majority beside a server in its guard", {pause, a, a, a}},
      {"a majority grants nothing to anybody", {yes, pause, pause, pause}},
      {"a majority has another capacity", {other, other, other}},
      {"a minority grants nothing to anybody", {pause, pause, yes, yes, yes}, true, false},
  };
  for (const auto& each : all) {
    SCOPED_TRACE(each.name);
    contender one{claim(false).claim(), fencing_token{number}, terms_};
    static_cast<void>(one.ask(now_));
    contender::step last;
    for (std::size_t i = 0; i < each.answers.size(); ++i) {
      EXPECT_FALSE(last.answer) << i;
      last = one.on_reply(now_, i, of(each.answers[i]));
    }
    ASSERT_TRUE(last.answer);
    EXPECT_EQ(is_grant(last), each.is_granted);
    EXPECT_EQ(last.is_over, each.is_over);
    if (each.is_granted) continue;
    const auto& decisive = each.answers.back();
    EXPECT_EQ(std::get<tickets::reply>(*last.answer).index(), decisive.index());
    if (const auto* paused = answer_in<tickets::paused>(last)) {
      EXPECT_EQ(paused->reason.message, "host1:6379: started 1 s ago");
    }
    if (const auto* capacity = answer_in<tickets::other_capacity>(last)) {
      EXPECT_EQ(capacity->capacity, 3);
    }
  }
}

// ---- split votes

TEST_F(quorum_try, waits_in_the_queues_while_the_votes_are_split) {
  split();
  EXPECT_TRUE(is_grant(hear(2, granted())));
}

TEST_F(quorum_try, that_is_split_is_refused_as_soon_as_another_claim_has_a_majority) {
  split();
  expect_refused(hear({2, 3, 4}, queued("a")));
}

TEST_F(quorum_try, that_is_split_does_not_wait_for_ever) {
  split();
  hear({2, 3}, queued("a"));
  hear(4, queued("b"));
  expect_refused(wake_after(silence));
}

TEST_F(quorum_try_of_three, ends_though_a_vote_is_being_given_back_to_a_server_that_is_dead) {
  ask();
  EXPECT_EQ(hear(0, overtaken(1)).send.size(), 1U);
  hear(1, granted());
  EXPECT_FALSE(hear(2, votes::refused()).answer);
  const auto late = wake_after(silence);
  ASSERT_TRUE(late.answer);
  EXPECT_TRUE(late.is_over);
}

// ---- a majority without a token

// Nobody has turned it away.
TEST_F(quorum_try, whose_grants_run_out_before_a_token_is_accepted_is_not_refused) {
  ask();
  hear({0, 1, 2}, granted(0));
  const auto late = wake_after(31s);
  ASSERT_NE(error_in(late), nullptr);
  EXPECT_EQ(error_in(late)->reason.code, errc::unavailable);
}

// Two of three have granted, and one of them does not hear of the token that both can accept. The third
// grants nothing to anybody.
TEST_F(quorum_try_of_three, ends_though_a_proposal_was_lost) {
  ask();
  hear(0, granted());
  hear(1, pause);
  ASSERT_EQ(hear(2, granted(0, number + 7)).send.size(), 2U);
  const auto token = form_of(sent(2)).token.value();
  EXPECT_FALSE(hear(2, granted(token, token)).answer);
  const auto failed = hear(0, store::no_answer());
  EXPECT_FALSE(failed.answer) << "a server may come back";
  ASSERT_TRUE(failed.wake_at);
  EXPECT_NE(error_in(wake_after(*failed.wake_at - now_)), nullptr);
}

// It grants, so it answers: to count it among those that do not, or to say nothing of it, leads nowhere.
TEST_F(quorum_try, says_which_server_refuses_the_token_by_its_clock) {
  ask();
  for (const std::size_t server : {0, 1}) hear(server, failed(server));
  hear({2, 3}, granted());
  hear(4, behind());
  const auto late = wake_after(silence);
  ASSERT_NE(error_in(late), nullptr);
  EXPECT_EQ(error_in(late)->reason.code, errc::unavailable);
  EXPECT_EQ(
      text_in(late),
      "no majority has granted and accepted one token in time; server 0 is gone; server 1 is gone; "
      "host4:6379 refuses the numbers of host3:6379: its clock is 5 s behind (holdfast doctor says more)");
}

// The servers whose clocks agree are a majority, and have accepted no token for another reason.
TEST_F(quorum_try, blames_no_clock_where_a_majority_of_them_agrees) {
  auto ahead = granted(0, 0);
  ahead.vote->clock = clock + 5s;
  ask();
  hear(0, behind());
  hear({1, 2, 3}, granted(0, number));
  ASSERT_EQ(addressees(task::accept), (std::set<std::size_t>{1, 2, 3})) << "their fence is the number";
  hear(4, ahead);
  EXPECT_EQ(text_in(wake_after(silence)), "no majority has granted and accepted one token in time");
}

// If a vote is missing no server has refused a token.
TEST_F(quorum_try, blames_no_clock_where_no_majority_has_granted) {
  auto r = claim(false);
  r.ttl = 400ms;
  contender one{r.claim(), fencing_token{number}, terms_};
  const auto tell = [&](std::size_t server, const auto& answer) {
    return one.on_reply(now_, server, of(answer));
  };
  static_cast<void>(one.ask(now_));
  for (const std::size_t server : {0, 1}) tell(server, failed(server));
  for (const std::size_t server : {2, 3}) tell(server, granted());
  EXPECT_FALSE(tell(4, behind()).answer);
  now_ += 300ms;  // two of the grants are renewed, and the third one ends
  for (const std::size_t server : {3, 4}) static_cast<void>(one.on_notification(now_, server, {}));
  tell(3, granted());
  EXPECT_FALSE(tell(4, behind()).answer);
  now_ += 150ms;
  EXPECT_EQ(text_in(one.wake(now_)),
            "no majority has granted and accepted one token in time; server 0 is gone; server 1 is gone");
}

}  // namespace
}  // namespace holdfast::quorum
