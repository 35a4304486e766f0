// The machine of one claim on several servers, told step by step what they answer.

#include <chrono>
#include <gtest/gtest.h>

#include "stores/quorum/protocol/contender.hpp"
#include "unit/quorum_votes.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;

tickets::request claim_that_waits() {
  tickets::request r;
  r.kind = tickets::task::acquire;
  r.name = "stock";
  r.token = fencing_token{7};
  r.ttl = 30s;
  r.wait = true;
  return r;
}

tickets::link::outcome waits(bool is_head, bool is_silent) {
  tickets::place at;
  at.token = fencing_token{7};
  at.head = is_head;
  at.silent = is_silent;
  at.vote.emplace();
  return tickets::reply{at};
}

// A foreign holder notifies nobody. The caller would look again only after a third of the ttl.
TEST(quorum_waiting, says_that_it_is_first_behind_a_foreign_holder_when_that_is_learnt_after_the_answer) {
  contender machine{claim_that_waits(), {.servers = 5, .silence = 500ms, .furthest = votes::furthest}};
  const store::time_point begin{1h};
  EXPECT_EQ(machine.ask(begin).send.size(), 5U);
  EXPECT_FALSE(machine.on_reply(begin, 0, waits(false, false)).answer);
  EXPECT_FALSE(machine.on_reply(begin, 1, waits(false, false)).answer);
  EXPECT_TRUE(machine.on_reply(begin, 2, waits(false, false)).answer);
  EXPECT_FALSE(machine.on_reply(begin, 3, waits(false, false)).should_look);
  const auto late = machine.on_reply(begin, 4, waits(true, false));
  EXPECT_FALSE(late.should_look) << "so soon after the answer";
  ASSERT_TRUE(late.wake_at);
  EXPECT_TRUE(machine.wake(*late.wake_at).should_look);
  EXPECT_FALSE(machine.wake(*late.wake_at).should_look) << "once";
}

TEST(quorum_waiting, says_that_a_majority_is_foreign_when_a_hint_has_shown_it) {
  contender machine{claim_that_waits(), {.servers = 5, .silence = 500ms, .furthest = votes::furthest}};
  const store::time_point begin{1h};
  (void)machine.ask(begin);
  for (std::size_t server = 0; server < 5; ++server)
    EXPECT_FALSE(machine.on_reply(begin, server, waits(true, false)).should_look);
  const auto later = begin + 1s;
  for (std::size_t server = 0; server < 3; ++server) {
    EXPECT_EQ(machine.hint(later, server).send.size(), 1U);
    EXPECT_EQ(machine.on_reply(later, server, waits(true, true)).should_look, server == 2);
  }
}

// ---- a try

bool is_error(const contender::step& s) {
  return s.answer && std::holds_alternative<store::request_error>(*s.answer);
}

// Two of three have granted, and one of them does not hear of the token that both can accept. The third
// grants nothing to anybody.
TEST(quorum_waiting, of_a_try_ends_though_a_proposal_was_lost) {
  contender machine{votes::claim(false),
                    {.servers = 3, .silence = votes::silence, .furthest = votes::furthest}};
  const store::time_point begin{1h};
  (void)machine.ask(begin);
  (void)machine.on_reply(begin, 0, votes::of(votes::granted()));
  (void)machine.on_reply(begin, 1, votes::of(tickets::paused{{errc::unavailable, "started"}}));
  const auto proposed = machine.on_reply(begin, 2, votes::of(votes::granted(0, votes::number + 7)));
  ASSERT_EQ(proposed.send.size(), 2U);
  const auto token = proposed.send[0].request.token.value();
  EXPECT_FALSE(machine.on_reply(begin + 1ms, 2, votes::of(votes::granted(token, token))).answer);
  const auto failed = machine.on_reply(begin + 2ms, 0, votes::of(store::no_answer()));
  EXPECT_FALSE(failed.answer) << "a server may come back";
  ASSERT_TRUE(failed.wake_at);
  EXPECT_TRUE(is_error(machine.wake(*failed.wake_at)));
}

TEST(quorum_waiting, of_a_try_ends_though_a_vote_is_being_given_back_to_a_server_that_is_dead) {
  contender machine{votes::claim(false),
                    {.servers = 3, .silence = votes::silence, .furthest = votes::furthest}};
  const store::time_point begin{1h};
  (void)machine.ask(begin);
  EXPECT_EQ(machine.on_reply(begin, 0, votes::of(votes::overtaken(1))).send.size(), 1U);
  (void)machine.on_reply(begin, 1, votes::of(votes::granted()));
  EXPECT_FALSE(machine.on_reply(begin, 2, votes::of(votes::refused())).answer);
  const auto late = machine.wake(begin + votes::silence);
  ASSERT_TRUE(late.answer);
  EXPECT_TRUE(late.is_over);
}

// A server whose clock is far behind grants, and accepts no token.
TEST(quorum_waiting, does_not_rely_on_a_majority_that_accepts_no_token) {
  contender machine{votes::claim(true),
                    {.servers = 3, .silence = votes::silence, .furthest = votes::furthest}};
  const store::time_point begin{1h};
  (void)machine.ask(begin);
  auto behind = votes::granted(0, 0);
  behind.vote->clock = {};
  EXPECT_TRUE(machine.on_reply(begin, 1, votes::of(behind)).send.empty());
  (void)machine.on_reply(begin, 2, votes::of(votes::queued()));
  const auto answered = machine.on_reply(begin, 0, votes::of(votes::overtaken(1)));
  ASSERT_EQ(answered.send.size(), 1U);
  EXPECT_EQ(answered.send[0].request.step, tickets::ballot_step::yield);
}

// ---- an end by force

TEST(quorum_waiting, does_not_count_a_vote_that_may_have_been_ended_by_force) {
  contender machine{votes::claim(true),
                    {.servers = 3, .silence = votes::silence, .furthest = votes::furthest}};
  const store::time_point begin{1h};
  (void)machine.ask(begin);
  (void)machine.on_reply(begin, 0, votes::of(votes::granted()));
  EXPECT_EQ(machine.doubt(begin, 0).send.size(), 1U);
  const auto second = machine.on_reply(begin, 1, votes::of(votes::granted()));
  EXPECT_FALSE(second.is_won);
  EXPECT_FALSE(machine.holds());
  const auto first = machine.on_reply(begin, 0, votes::of(votes::granted(votes::number, votes::number, 2)));
  EXPECT_TRUE(first.is_won || machine.holds());
}

}  // namespace
}  // namespace holdfast::quorum
