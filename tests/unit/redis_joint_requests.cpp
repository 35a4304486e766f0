// SPDX-License-Identifier: Apache-2.0
// Several claims in one request: what is said to a server, and what is made of its answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "unit/redis_values.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::StartsWith;

const owner_id client = owner_id::random();

class redis_joint_requests : public testing::Test {
 protected:
  static store::claim_ptr claim(const std::string& name, mode m = mode::exclusive, duration ttl = 30s) {
    store::claim c;
    c.name = name;
    c.owner = owner_id::random();
    c.mode = m;
    c.ttl = ttl;
    return std::make_shared<const store::claim>(std::move(c));
  }
  static tickets::acquire_all acquire(std::vector<store::claim_ptr> claims) {
    tickets::acquire_all all;
    all.claims = std::move(claims);
    return all;
  }
  /// The command that is said now, without its script.
  static std::vector<std::string> said(request_fsm& talk) {
    std::string bytes;
    EXPECT_EQ(talk.say(bytes), 1U);
    auto command = commands_in(bytes).at(0);
    if (command.at(0) == "EVALSHA") command.erase(command.begin(), command.begin() + 2);
    return command;
  }
  static std::optional<request_fsm::outcome> heard(request_fsm& talk, value v) {
    std::vector<value> replies;
    replies.push_back(std::move(v));
    return talk.hear(std::move(replies));
  }
  static std::vector<tickets::several::answer> answers_in(const std::optional<request_fsm::outcome>& o) {
    return std::get<tickets::several>(std::get<tickets::reply>(o.value())).each;
  }

  dialect in;
};

TEST_F(redis_joint_requests, say_once_what_all_claims_have) {
  const auto one = claim("a");
  const auto other = claim("b");
  request_fsm talk{acquire({one, other}), in, client};
  const keys a = keys::of(in.prefix, "a");
  const keys b = keys::of(in.prefix, "b");
  EXPECT_THAT(said(talk),
              ElementsAre("8", a.lock, a.fence, a.waiters, a.holders, b.lock, b.fence, b.waiters, b.holders,
                          "30000", "3600000", StartsWith(client.hex() + " 1073741824 1073741824 30000 "),
                          one->owner.hex(), other->owner.hex()));
}

TEST_F(redis_joint_requests, say_all_of_a_claim_that_differs) {
  const auto reader = claim("b", mode::shared);
  const auto longer = claim("c", mode::exclusive, 60s);
  request_fsm talk{acquire({claim("a"), reader, longer}), in, client};
  const auto command = said(talk);
  EXPECT_THAT(command.at(17), StartsWith(reader->owner.hex() + " 30000 1073741824 1 " + client.hex()));
  EXPECT_THAT(command.at(18), StartsWith(longer->owner.hex() + " 60000 0 1073741824 " + client.hex()));
}

TEST_F(redis_joint_requests, read_tokens_up_to_a_refusal) {
  request_fsm talk{acquire({claim("a"), claim("b"), claim("c")}), in, client};
  static_cast<void>(said(talk));
  const auto answers = answers_in(heard(talk, list({text("00000000000000000007"), list({number(2)})})));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(std::get<tickets::place>(answers[0]).token, fencing_token{7});
  EXPECT_TRUE(std::holds_alternative<tickets::refused>(answers[1]));
}

TEST_F(redis_joint_requests, leave_what_is_neither_granted_nor_refused) {
  request_fsm talk{acquire({claim("a"), claim("b")}), in, client};
  static_cast<void>(said(talk));
  EXPECT_EQ(
      answers_in(heard(talk, list({text("00000000000000000007"), list({number(3), number(4)})}))).size(), 1U);
}

TEST_F(redis_joint_requests, are_not_understood_with_more_answers_than_claims) {
  request_fsm talk{acquire({claim("a")}), in, client};
  static_cast<void>(said(talk));
  const auto o = heard(talk, list({text("00000000000000000007"), text("00000000000000000008")}));
  EXPECT_TRUE(std::get<store::request_error>(o.value()).maybe_executed);
}

TEST_F(redis_joint_requests, wait_for_replicas_once) {
  in.replicas = 1;
  request_fsm talk{acquire({claim("a"), claim("b")}), in, client};
  static_cast<void>(said(talk));
  EXPECT_FALSE(heard(talk, list({text("00000000000000000007"), text("00000000000000000008")})));
  EXPECT_EQ(said(talk).at(0), "WAIT");
  EXPECT_EQ(answers_in(heard(talk, number(1))).size(), 2U);
}

TEST_F(redis_joint_requests, are_doubted_without_replicas) {
  in.replicas = 1;
  request_fsm talk{acquire({claim("a"), claim("b")}), in, client};
  static_cast<void>(said(talk));
  EXPECT_FALSE(heard(talk, list({text("00000000000000000007"), list({number(2)})})));
  static_cast<void>(said(talk));
  EXPECT_TRUE(std::get<store::request_error>(heard(talk, number(0)).value()).granted);
}

TEST_F(redis_joint_requests, with_a_ttl_above_the_guard_are_refused) {
  in.guard = 30s;
  EXPECT_FALSE(outlasts_guard(acquire({claim("a"), claim("b")}), in));
  EXPECT_TRUE(outlasts_guard(acquire({claim("a"), claim("b", mode::exclusive, 60s)}), in));
}

TEST_F(redis_joint_requests, end_claims_by_their_owners) {
  tickets::release_all ends;
  ends.holds = {{"a", owner_id::random(), fencing_token{7}, 30s},
                {"b", owner_id::random(), fencing_token{8}, 30s}};
  request_fsm talk{ends, in, client};
  auto command = said(talk);
  command.erase(command.begin(), command.begin() + 9);
  EXPECT_THAT(command, ElementsAre("3600000", ends.holds[0].owner.hex(), ends.holds[1].owner.hex()));
  const auto answers = answers_in(heard(talk, list({number(1), number(0)})));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<tickets::done>(answers[0]));
  EXPECT_TRUE(std::holds_alternative<tickets::nothing>(answers[1]));
}

}  // namespace
}  // namespace holdfast::redis
