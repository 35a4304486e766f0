#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <vector>

#include "simulation/redis/against_server/difference.hpp"
#include "simulation/redis/against_server/lock_clients.hpp"
#include "simulation/redis/against_server/lock_steps.hpp"
#include "simulation/redis/against_server/values.hpp"
#include "support/redis_server.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

namespace {

constexpr std::size_t requests_each = most_lock_steps;

redis::dialect dialect_of(std::uint64_t seed) {
  redis::dialect in;
  if (seed % 3 == 0) in.prefix.clear();
  if (seed % 10 == 0) {  // which nobody has: what was granted is given back
    in.replicas = 1;
    in.replicas_wait = std::chrono::milliseconds{1};
  }
  return in;
}

std::optional<difference> compare(const std::string& socket, const redis::dialect& in,
                                  const std::vector<lock_step>& steps) {
  constexpr std::int64_t slack_ms = 4000;  // less than what the times of the steps are apart
  real_server real{socket};
  model_server model;
  lock_clients at_real{real, in};
  lock_clients at_model{model, in};
  for (std::size_t at = 0; at < steps.size(); ++at) {
    redis::value a = at_real.perform(steps[at]);
    redis::value b = at_model.perform(steps[at]);
    if (!same(a, b, slack_ms)) return difference{at, describe(a), describe(b)};
    if ((at + 1) % 10 != 0 && at + 1 != steps.size()) continue;  // many questions, seldom
    a = at_real.all_keys();
    b = at_model.all_keys();
    if (!same(a, b, slack_ms)) return difference{at, describe(a), describe(b)};
  }
  return std::nullopt;
}

}  // namespace

TEST(redis_model, answers_clients_as_the_server_does) {
  // A server that looks at its clock often: WAIT ends with a look.
  const test::redis_server server{{.lines = {"hz 500"}}};
  compare_many(
      300, [](std::uint64_t seed) { return draw_lock_steps(seed, requests_each); },
      [&](std::uint64_t seed, const std::vector<lock_step>& steps) {
        return compare(server.socket(), dialect_of(seed), steps);
      });
}

// As `at_least` does. The first in line looks again when the hold ends, and not when it would have ended.
TEST(redis_model, tells_the_first_in_line_of_the_shorter_time_of_a_last_renewal) {
  model_server server;
  const redis::dialect in;
  lock_clients clients{server, in};
  const auto claim = [](std::size_t owner) {
    lock_step s;
    s.task = test::task::acquire;
    s.owner = owner;
    s.weight = s.capacity = store::full_capacity;
    s.ttl_ms = 60'000;
    s.wait = true;
    return s;
  };
  lock_step last_renewal;
  last_renewal.task = test::task::renew;
  last_renewal.batch = {{0, 0}};
  last_renewal.ttl_ms = 5'000;
  static_cast<void>(clients.perform(claim(0)));
  static_cast<void>(clients.perform(last_renewal));
  const redis::value arrived = clients.perform(claim(1)).items.at(0);
  lock_step look = claim(1);
  look.task = test::task::look;
  const redis::value looked = clients.perform(look).items.at(0);
  for (const redis::value& place : {arrived, looked}) {
    ASSERT_EQ(place.items.size(), 5U) << describe(place);
    EXPECT_EQ(place.items[2].text, "head");
    EXPECT_LE(place.items[4].number, 5'000);
  }
}

}  // namespace holdfast::sim
