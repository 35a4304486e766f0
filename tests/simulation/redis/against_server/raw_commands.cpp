#include <gtest/gtest.h>
#include <optional>

#include "simulation/redis/against_server/compared_servers.hpp"
#include "simulation/redis/against_server/difference.hpp"
#include "simulation/redis/against_server/raw_steps.hpp"
#include "simulation/redis/against_server/values.hpp"
#include "support/redis_server.hpp"

namespace holdfast::sim {

namespace {

constexpr std::size_t commands_each = 60;

/// Lets both carry out the commands, from nothing, until they answer differently.
std::optional<difference> compare(const std::string& socket, bool resp3, const std::vector<step>& steps) {
  real_server server{socket};
  model_server model;
  const std::size_t clients = resp3 ? compared_server::clients : 0;
  for (std::size_t i = 0; i < clients; ++i) {
    server.ask(i, {"HELLO", "3"});
    model.ask(i, {"HELLO", "3"});
  }
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const step& s = steps[at];
    const redis::value a = answer_of(server, s);
    const redis::value b = answer_of(model, s);
    if (!agree(a, b, s.compared)) return difference{at, describe(a), describe(b)};
    for (std::size_t i = 0; i < clients; ++i) {
      const redis::value pushed_a{redis::value::kind::list, 0, {}, server.take_pushes(i)};
      const redis::value pushed_b{redis::value::kind::list, 0, {}, model.take_pushes(i)};
      if (!same(pushed_a, pushed_b)) return difference{at, describe(pushed_a), describe(pushed_b)};
    }
  }
  return std::nullopt;
}

std::vector<step> steps_of(std::uint64_t seed, bool resp3) {
  random_choices d{seed};
  raw_steps commands{d};
  std::vector<step> steps;
  while (steps.size() < commands_each) {
    step s = commands.next();
    // With RESP2, a connection that subscribes is good for nothing else.
    if (resp3 || s.compared != step::comparison::messages) steps.push_back(std::move(s));
  }
  return steps;
}

}  // namespace

TEST(redis_model, answers_commands_as_the_server_does) {
  const test::redis_server server;
  constexpr int few = 20;  // as many differences are worth a look at once
  int found = 0;
  for (std::uint64_t seed = 1; seed <= sequences(1000); ++seed) {
    const bool resp3 = seed % 2 != 0;
    const auto both = [&](const std::vector<step>& steps) { return compare(server.socket(), resp3, steps); };
    std::vector<step> steps = steps_of(seed, resp3);
    const auto first = both(steps);
    if (!first || !both(steps)) continue;  // a machine that stalls for longer than the slack differs once
    steps.resize(first->at + 1);
    ADD_FAILURE() << "seed " << seed << (resp3 ? ", RESP3\n" : ", RESP2\n") << report(std::move(steps), both);
    if (++found == few) break;
  }
}

}  // namespace holdfast::sim
