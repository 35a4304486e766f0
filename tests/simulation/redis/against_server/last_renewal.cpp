// SPDX-License-Identifier: Apache-2.0
// A last renewal, which shortens or lengthens a hold, as `at_least` does.

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "simulation/redis/redis_model.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

owner_id id_of(std::uint8_t n) {
  owner_id::bytes_type bytes{};
  bytes.fill(n);
  return owner_id{bytes};
}

tickets::acquire claim_of(std::uint8_t owner) {
  store::claim c;
  c.name = "stock";
  c.owner = id_of(owner);
  c.ttl = 60s;
  c.wait = true;
  return {std::make_shared<const store::claim>(std::move(c))};
}

/// The outcome of a request at the model.
tickets::reply ask(redis_model& server, connection& by, const tickets::request& request) {
  const redis::dialect in;
  redis::request_fsm talk{request, in, id_of(0xc0)};
  std::optional<redis::request_fsm::outcome> result;
  while (!result) {
    std::string bytes;
    static_cast<void>(talk.say(bytes));
    redis::parser said;
    said.feed(bytes);
    std::vector<redis::value> replies;
    while (const auto command = said.next()) {
      std::vector<std::string> words;
      for (const redis::value& word : command->items) words.push_back(word.text);
      replies.push_back(server.execute(words, by));
    }
    result = talk.hear(std::move(replies));
  }
  return std::get<tickets::reply>(std::move(*result));
}

}  // namespace

// The first in line looks again when the hold ends, and not when it would have ended.
TEST(redis_model, tells_the_first_in_line_of_the_shorter_time_of_a_last_renewal) {
  redis_model server{[] { return std::int64_t{1'700'000'000'000'000}; }};
  connection client = server.connect();
  const auto held = std::get<tickets::place>(ask(server, client, claim_of(1)));
  static_cast<void>(ask(server, client, tickets::renew{{{"stock", id_of(1), held.token, 5s}}}));
  const auto arrived = std::get<tickets::place>(ask(server, client, claim_of(2)));
  const tickets::look look{{"stock", id_of(2), arrived.token, 60s}};
  const auto looked = std::get<tickets::place>(ask(server, client, look));
  for (const tickets::place& place : {arrived, looked}) {
    EXPECT_TRUE(place.head);
    EXPECT_EQ(place.holder_left, 5s);
  }
}

// A downgrade that is carried out late: the hold is one of several then, and their set lives as long.
TEST(redis_model, keeps_the_longer_time_of_a_last_renewal_when_its_hold_is_downgraded) {
  std::int64_t now = 1'700'000'000'000'000;
  redis_model server{[&now] { return now; }};
  connection client = server.connect();
  const auto held = std::get<tickets::place>(ask(server, client, claim_of(1)));
  static_cast<void>(ask(server, client, tickets::renew{{{"stock", id_of(1), held.token, 5h}}}));
  const tickets::downgrade late{{"stock", id_of(1), held.token, 60s}};
  EXPECT_TRUE(std::holds_alternative<tickets::done>(ask(server, client, late)));
  now += std::chrono::microseconds{4h}.count();
  EXPECT_FALSE(std::get<tickets::place>(ask(server, client, claim_of(2))).granted) << "it rests";
  const auto state =
      std::get<std::optional<lock_state>>(ask(server, client, tickets::inspect{.name = "stock"}));
  ASSERT_EQ(state.value_or(lock_state{}).holders.size(), 1U);
  EXPECT_EQ(state->holders[0].expires_in, 1h);
}

}  // namespace holdfast::sim
