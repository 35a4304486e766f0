// The machine of one claim on several servers, told step by step what they answer.

#include <chrono>
#include <gtest/gtest.h>

#include "stores/quorum/protocol/contender.hpp"

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
  contender machine{claim_that_waits(), 5, 500ms};
  const store::time_point begin{1h};
  EXPECT_EQ(machine.ask(begin).send.size(), 5U);
  EXPECT_FALSE(machine.hear(begin, 0, waits(false, false)).answer);
  EXPECT_FALSE(machine.hear(begin, 1, waits(false, false)).answer);
  EXPECT_TRUE(machine.hear(begin, 2, waits(false, false)).answer);
  EXPECT_FALSE(machine.hear(begin, 3, waits(false, false)).should_look);
  const auto late = machine.hear(begin, 4, waits(true, false));
  EXPECT_FALSE(late.should_look) << "so soon after the answer";
  ASSERT_TRUE(late.wake_at);
  EXPECT_TRUE(machine.wake(*late.wake_at).should_look);
  EXPECT_FALSE(machine.wake(*late.wake_at).should_look) << "once";
}

TEST(quorum_waiting, says_that_a_majority_is_foreign_when_a_hint_has_shown_it) {
  contender machine{claim_that_waits(), 5, 500ms};
  const store::time_point begin{1h};
  (void)machine.ask(begin);
  for (std::size_t server = 0; server < 5; ++server)
    EXPECT_FALSE(machine.hear(begin, server, waits(true, false)).should_look);
  const auto later = begin + 1s;
  for (std::size_t server = 0; server < 3; ++server) {
    EXPECT_EQ(machine.hint(later, server).send.size(), 1U);
    EXPECT_EQ(machine.hear(later, server, waits(true, true)).should_look, server == 2);
  }
}

}  // namespace
}  // namespace holdfast::quorum
