// A last renewal, which shortens a hold, as `at_least` does.

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

}  // namespace holdfast::sim
