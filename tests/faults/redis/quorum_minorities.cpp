// SPDX-License-Identifier: Apache-2.0
// A minority that is slow, or was dead at the grant, and comes back.

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>

#include "faults/faults.hpp"
#include "holdfast/holdfast.h"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using test::direction;
using test::redis_quorum;

TEST(redis_quorum_slow, servers_in_a_minority_hold_up_nothing) {
  constexpr std::array<std::size_t, 2> slow{1, 4};
  redis_quorum servers{{.on_lines = true}};
  client one{servers.url("?node_timeout=1min")};
  client two{servers.url("?node_timeout=1min")};
  for (client* each : {&one, &two}) EXPECT_FALSE(mutex(*each, "stock", patient()).acquire().release());
  const auto take_turns = [&] {
    for (int turn = 0; turn < 20; ++turn) {
      auto held = mutex{one, "stock", patient()}.acquire();
      EXPECT_EQ(renew(held), renewal::renewed);
      auto next = std::async(std::launch::async, [&] { return mutex{two, "stock", patient()}.acquire(); });
      EXPECT_FALSE(held.release());
      EXPECT_FALSE(next.get().release());
    }
  };
  const auto said_by_slow_ones = [&] {
    std::size_t bytes = 0;
    for (const std::size_t i : slow) bytes += servers.line(i).passed(direction::to_client);
    return bytes;
  };
  for (const std::size_t i : slow) servers.line(i).interfere(direction::to_client, {.stall = true});
  const std::size_t before = said_by_slow_ones();
  take_turns();
  EXPECT_EQ(said_by_slow_ones(), before) << "none of their answers was needed";
  // All of those come now, and the next ones late.
  for (const std::size_t i : slow) servers.line(i).interfere(direction::to_client, {.delay = 300ms});
  take_turns();
  for (const std::size_t i : slow) servers.line(i).heal();
  await([&] { return servers.holds_of("stock") == 0; }, "a slow server keeps a hold");
}

TEST(redis_quorum_notes, name_a_server_that_is_not_heard_also_in_c) {
  redis_quorum servers;
  client locks{servers.url()};
  const auto held = mutex{locks, "stock", patient()}.acquire();
  servers.server(3).kill();
  holdfast_client* reader = nullptr;
  ASSERT_EQ(holdfast_client_open(servers.url("?node_timeout=20s").c_str(), nullptr, &reader, nullptr),
            HOLDFAST_OK);
  holdfast_state* seen = nullptr;
  ASSERT_EQ(holdfast_inspect(reader, "stock", SIZE_MAX, &seen, nullptr), HOLDFAST_OK);
  EXPECT_EQ(seen->holder_count, 1U);
  ASSERT_EQ(seen->note_count, 1U);
  EXPECT_EQ(seen->notes[0]->server, "127.0.0.1:" + std::to_string(servers.server(3).port()));
  EXPECT_STRNE(seen->notes[0]->text, "");
  EXPECT_FALSE(seen->notes[0]->answers);
  holdfast_state_free(seen);
  holdfast_client_free(reader);
}

TEST(redis_quorum_slow, servers_that_answer_after_the_hand_over_take_nothing_back) {
  redis_quorum servers{{.on_lines = true}};
  client one{servers.url("?node_timeout=60s")};
  client two{servers.url("?node_timeout=60s")};
  for (client* each : {&one, &two}) EXPECT_FALSE(mutex(*each, "stock", patient()).acquire().release());
  await([&] { return servers.holds_of("stock") == 0; }, "a release has not come to all");
  for (const std::size_t i : {0U, 3U}) servers.line(i).interfere(direction::to_server, {.stall = true});
  auto held = mutex{one, "stock", patient()}.acquire();
  EXPECT_FALSE(held.release());
  auto next = mutex{two, "stock", patient()}.acquire();
  EXPECT_EQ(servers.holds_of("stock"), 3U);
  // Only now they receive the first client's claim, and then its end.
  for (const std::size_t i : {0U, 3U}) servers.line(i).interfere(direction::to_server, {});
  await([&] { return renew(next) == renewal::renewed && servers.holds_of("stock") == 5; },
        "the hold is not on all servers");
  EXPECT_FALSE(mutex(one, "stock").try_lock());
  EXPECT_TRUE(next.held());
}

class redis_quorum_returns : public testing::Test {
 protected:
  void await_holds(std::size_t count) {
    await([&] { return servers_.holds_of("stock") == count; }, "the hold is on other servers");
  }

  redis_quorum servers_;
  std::string url_ = servers_.url("?node_timeout=20s");  // a try must not fail where the machine stands still
};

TEST_F(redis_quorum_returns, of_each_server_in_turn_are_noticed_by_a_client_that_goes_on) {
  client locks{url_};
  client others{url_};
  fencing_token last;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    servers_.server(i).kill();
    auto held = mutex{locks, "stock", patient()}.acquire();
    EXPECT_GT(held.token(), last);
    last = held.token();
    servers_.server(i).start_empty();
    await([&] { return renew(held) == renewal::renewed && servers_.holds_of("stock") == 5; },
          "a server that is back gets no hold");
    EXPECT_FALSE(mutex(others, "stock").try_lock());
    EXPECT_FALSE(held.release());
  }
}

// A server that stands still has the claims of its time in its socket when it goes on.
TEST_F(redis_quorum_returns, of_servers_that_stood_still_bring_no_former_hold_back) {
  client locks{servers_.url()};
  client others{servers_.url()};
  EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
  EXPECT_FALSE(mutex(others, "stock", patient()).acquire().release());
  servers_.server(1).stop();
  servers_.server(2).stop();
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
    EXPECT_FALSE(mutex(others, "stock", patient()).acquire().release());
  }
  servers_.server(1).go_on();
  servers_.server(2).go_on();
  await_holds(0);
  servers_.server(0).stop();
  servers_.server(4).stop();
  auto held = mutex{locks, "stock", patient()}.acquire();
  EXPECT_EQ(renew(held), renewal::renewed);
  servers_.server(0).go_on();
  servers_.server(4).go_on();
  EXPECT_FALSE(held.release());
}

}  // namespace
}  // namespace holdfast::faults
