// SPDX-License-Identifier: Apache-2.0
// The length of the failover guard that a server keeps, as clients ask for several: the real script on the
// simulator's model of Redis, on virtual time.

#include <algorithm>
#include <array>
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "simulation/randomness.hpp"
#include "simulation/redis/redis_model.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/scripts.hpp"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds margin = 10s;  // as in lua/guard.lua

class redis_guard_lengths : public testing::Test {
 protected:
  struct answer {
    milliseconds left;
    milliseconds longest;
    milliseconds ends;
  };
  /// A client asks whether the server grants.
  answer ask(milliseconds guard) {
    const redis::value reply =
        server_.execute({"EVAL", std::string{redis::text::guard}, "1", redis::guard_key("holdfast:"),
                         std::to_string(guard.count()), "0", ""},
                        client_);
    const auto number = [&](std::size_t i) { return milliseconds{reply.items.at(i).number}; };
    return {number(0), number(3), number(5)};
  }
  void pass(microseconds time) { now_ += time; }
  [[nodiscard]] milliseconds now() const { return std::chrono::floor<milliseconds>(now_); }
  void restart() {
    server_.restart();
    client_ = server_.connect();
  }

  microseconds now_ = 24h * 365 * 50;
  redis_model server_{[this] { return now_.count(); }};
  connection client_ = server_.connect();
};

TEST_F(redis_guard_lengths, forget_a_longer_one_when_nobody_has_asked_for_it_in_so_long) {
  ask(25h);
  EXPECT_EQ(ask(2s).longest, 25h);
  pass(25h + margin);
  EXPECT_EQ(ask(2s).longest, 25h);
  pass(1ms);
  EXPECT_EQ(ask(2s).longest, 2s);
  restart();
  EXPECT_LE(ask(2s).left, 2s);
}

TEST_F(redis_guard_lengths, fall_to_the_longest_that_was_asked_for_meanwhile) {
  ask(25h);
  ask(30s);
  ask(2s);
  pass(25h + margin + 1ms);
  EXPECT_EQ(ask(2s).longest, 30s);
  pass(30s + margin + 1ms);
  EXPECT_EQ(ask(2s).longest, 2s);
}

// What a file says of the time is old: others may have asked since.
TEST_F(redis_guard_lengths, are_remembered_for_a_whole_length_after_a_restart) {
  ask(30s);
  pass(1h);
  restart();
  EXPECT_EQ(ask(2s).longest, 30s);
  pass(30s + margin);
  EXPECT_EQ(ask(2s).longest, 30s);
}

TEST_F(redis_guard_lengths, do_not_change_the_end_of_a_guard_that_has_begun) {
  const milliseconds ends = ask(30s).ends;
  while (now() + 100ms < ends) {
    pass(100ms);
    ASSERT_EQ(ask(2s).ends, ends);
  }
}

TEST_F(redis_guard_lengths, are_written_once_in_a_while) {
  ask(30s);
  std::size_t writes = 0;
  static_cast<void>(server_.take_touched());
  for (int i = 0; i < 600; ++i) {
    pass(100ms);
    ask(30s);
    writes += server_.take_touched().size();
  }
  EXPECT_LE(writes, 15U);
}

// Clients with guards of several lengths ask at least as often as theirs say; others ask once. The server
// restarts, also with an old file.
TEST_F(redis_guard_lengths, are_never_below_that_of_a_client_that_asks) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    randomness chance{seed};
    struct asker {
      milliseconds guard;
      microseconds next{};
    };
    std::vector<asker> all;
    milliseconds longest{};
    for (std::uint64_t i = 1 + chance.below(3); i > 0; --i) {
      all.push_back({std::array<milliseconds, 4>{2s, 7s, 30s, 1h}.at(chance.below(4))});
      longest = std::max(longest, all.back().guard);
      ask(all.back().guard);
    }
    dataset file = server_.snapshot();
    for (int step = 0; step < 300; ++step) {
      const auto first = std::min_element(all.begin(), all.end(),
                                          [](const asker& a, const asker& b) { return a.next < b.next; });
      now_ = std::max(now_, first->next);
      first->next = now_ + chance.between(1ms, first->guard);
      ASSERT_GE(ask(first->guard).longest, longest) << "seed " << seed << ", step " << step;
      if (chance.one_in(30)) ask(std::chrono::floor<milliseconds>(chance.between(1s, 3h)));
      if (chance.one_in(20)) file = server_.snapshot();
      if (!chance.one_in(20)) continue;
      restart();
      if (chance.one_in(2)) server_.restore(file);
    }
  }
}

}  // namespace
}  // namespace holdfast::sim
