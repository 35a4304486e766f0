// A claim on five servers that does not wait: when it is refused, and when it waits for votes that are split.

#include "unit/quorum_contender.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using tickets::ballot_step;

class quorum_try : public quorum_contender {
 protected:
  quorum_try() : quorum_contender{false} {}
};

TEST_F(quorum_try, is_refused_where_a_majority_names_one_holder) {
  ask();
  EXPECT_FALSE(sent(0).wait);
  hear(0, granted());
  hear(1, refused("a"));
  hear(2, refused("a"));
  const auto lost = hear(3, refused("a"));
  EXPECT_NE(answer_in<tickets::refused>(lost), nullptr);
  EXPECT_TRUE(lost.is_over) << "the grant of a minority has to be withdrawn";
}

TEST_F(quorum_try, is_refused_by_a_majority_though_it_has_no_vote) {
  ask();
  hear(0, refused("a"));
  hear(1, refused("b"));
  const auto lost = hear(2, refused("a"));
  EXPECT_NE(answer_in<tickets::refused>(lost), nullptr);
  EXPECT_TRUE(lost.is_over);
}

TEST_F(quorum_try, waits_in_the_queues_while_the_votes_are_split) {
  ask();
  hear(0, granted());
  hear(1, granted());
  hear(2, refused("a"));
  hear(3, refused("a"));
  EXPECT_FALSE(hear(4, refused("b")).answer);
  ASSERT_EQ(addressees(ballot_step::claim), (std::set<std::size_t>{2, 3, 4}));
  EXPECT_TRUE(sent(2).wait);
  EXPECT_TRUE(is_grant(hear(2, granted())));
}

TEST_F(quorum_try, that_is_split_is_refused_as_soon_as_another_claim_has_a_majority) {
  ask();
  hear(0, granted());
  hear(1, granted());
  hear(2, refused("a"));
  hear(3, refused("a"));
  hear(4, refused("b"));
  hear(2, queued("a"));
  hear(3, queued("a"));
  const auto lost = hear(4, queued("a"));
  EXPECT_NE(answer_in<tickets::refused>(lost), nullptr);
  EXPECT_TRUE(lost.is_over);
}

TEST_F(quorum_try, that_is_split_does_not_wait_for_ever) {
  ask();
  hear(0, granted());
  hear(1, granted());
  hear(2, refused("a"));
  hear(3, refused("a"));
  hear(4, refused("b"));
  for (std::size_t i = 2; i < 5; ++i) hear(i, queued(i == 4 ? "b" : "a"));
  const auto lost = wake_after(silence);
  EXPECT_NE(answer_in<tickets::refused>(lost), nullptr);
  EXPECT_TRUE(lost.is_over);
}

TEST_F(quorum_try, says_that_a_majority_grants_nothing_to_anybody) {
  const tickets::reply pause = tickets::paused{{errc::unavailable, "started 1 s ago"}};
  ask();
  hear(0, granted());
  hear(1, pause);
  hear(2, pause);
  const auto lost = hear(3, pause);
  ASSERT_NE(answer_in<tickets::paused>(lost), nullptr);
  EXPECT_EQ(answer_in<tickets::paused>(lost)->reason.message, "started 1 s ago");
  EXPECT_TRUE(lost.is_over);
}

TEST_F(quorum_try, says_which_server_grants_nothing_to_anybody) {
  const std::vector<std::string> places{"a:1", "b:2", "c:3"};
  contender one{claim(false), {.servers = 3, .silence = silence, .furthest = furthest, .places = places}};
  static_cast<void>(one.ask(now_));
  const tickets::reply pause = tickets::paused{{errc::unavailable, "the server was started 0 s ago"}};
  static_cast<void>(one.on_reply(now_, 1, of(pause)));
  const auto lost = one.on_reply(now_, 2, of(pause));
  ASSERT_NE(answer_in<tickets::paused>(lost), nullptr);
  EXPECT_EQ(answer_in<tickets::paused>(lost)->reason.message, "b:2: the server was started 0 s ago");
}

// A server in its guard is none of the majority that names the holder, and may be the first to answer.
TEST_F(quorum_try, is_refused_by_a_holder_though_one_server_grants_nothing_to_anybody) {
  ask();
  hear(0, tickets::paused{{errc::unavailable, "started"}});
  EXPECT_FALSE(hear(1, votes::refused()).answer);
  EXPECT_FALSE(hear(2, votes::refused()).answer);
  EXPECT_NE(answer_in<tickets::refused>(hear(3, votes::refused())), nullptr);
}

// Nobody has turned it away.
TEST_F(quorum_try, whose_grants_run_out_before_a_token_is_accepted_is_not_refused) {
  ask();
  for (const std::size_t server : {0, 1, 2}) hear(server, granted(0));
  const auto late = wake_after(31s);
  ASSERT_NE(error_in(late), nullptr);
  EXPECT_EQ(error_in(late)->reason.code, errc::unavailable);
}

// It grants, so it answers: to count it among those that do not, or to say nothing of it, leads nowhere.
TEST_F(quorum_try, says_which_server_refuses_the_token_by_its_clock) {
  auto behind = granted(0, 0);
  behind.vote->clock = clock - 5s;
  ask();
  hear(0, failed(0));
  hear(1, failed(1));
  for (const std::size_t server : {2, 3}) hear(server, granted());
  hear(4, behind);
  const auto late = wake_after(silence);
  ASSERT_NE(error_in(late), nullptr);
  EXPECT_EQ(error_in(late)->reason.code, errc::unavailable);
  EXPECT_EQ(error_in(late)->reason.message,
            "no majority has granted and accepted one token in time; server 0 is gone; server 1 is gone; a "
            "server refuses the numbers of a server: its clock is 5 s behind (holdfast doctor says more)");
}

// The servers whose clocks agree are a majority, and have accepted no token for another reason.
TEST_F(quorum_try, blames_no_clock_where_a_majority_of_them_agrees) {
  auto behind = granted(0, 0);
  behind.vote->clock = clock - 5s;
  auto ahead = granted(0, 0);
  ahead.vote->clock = clock + 5s;
  ask();
  hear(0, behind);
  for (const std::size_t server : {1, 2, 3}) hear(server, granted(0, number));
  ASSERT_EQ(addressees(ballot_step::accept), (std::set<std::size_t>{1, 2, 3})) << "their fence is the number";
  hear(4, ahead);
  const auto late = wake_after(silence);
  ASSERT_NE(error_in(late), nullptr);
  EXPECT_EQ(error_in(late)->reason.message, "no majority has granted and accepted one token in time");
}

// Where a vote is missing no server has refused a token.
TEST_F(quorum_try, blames_no_clock_where_no_majority_has_granted) {
  auto behind = granted(0, 0);
  behind.vote->clock = clock - 5s;
  auto r = claim(false);
  r.ttl = 400ms;
  contender one{r, {.servers = 5, .silence = silence, .furthest = furthest}};
  const auto tell = [&](std::size_t server, const auto& answer) {
    return one.on_reply(now_, server, of(answer));
  };
  static_cast<void>(one.ask(now_));
  tell(0, failed(0));
  tell(1, failed(1));
  tell(2, granted());
  tell(3, granted());
  EXPECT_FALSE(tell(4, behind).answer);
  now_ += 300ms;  // two of the grants are renewed, and the third one ends
  static_cast<void>(one.hint(now_, 3));
  static_cast<void>(one.hint(now_, 4));
  tell(3, granted());
  EXPECT_FALSE(tell(4, behind).answer);
  now_ += 150ms;
  const auto lost = one.wake(now_);
  ASSERT_NE(error_in(lost), nullptr);
  EXPECT_EQ(error_in(lost)->reason.message,
            "no majority has granted and accepted one token in time; server 0 is gone; server 1 is gone");
}

TEST_F(quorum_try, is_granted_beside_two_that_grant_nothing_to_anybody) {
  ask();
  hear(0, tickets::paused{{errc::unavailable, "started"}});
  hear(1, tickets::paused{{errc::unavailable, "started"}});
  hear(2, granted());
  hear(3, granted());
  EXPECT_TRUE(is_grant(hear(4, granted())));
}

TEST_F(quorum_try, of_another_capacity_is_refused_by_a_majority_of_such_answers) {
  ask();
  hear(0, tickets::other_capacity{3});
  hear(1, tickets::other_capacity{3});
  const auto lost = hear(2, tickets::other_capacity{3});
  ASSERT_NE(answer_in<tickets::other_capacity>(lost), nullptr);
  EXPECT_EQ(answer_in<tickets::other_capacity>(lost)->capacity, 3);
  EXPECT_TRUE(lost.is_over);
}

}  // namespace
}  // namespace holdfast::quorum
