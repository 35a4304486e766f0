// SPDX-License-Identifier: Apache-2.0
// What an observer hears of the connections to several independent servers.

#include "faults/faults.hpp"
#include "support/event_log.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using test::event_log;
using test::redis_quorum;

TEST(redis_quorum_events, name_the_server_that_ends_and_is_back) {
  redis_quorum servers;
  const event_log log;
  client locks{servers.url(), client_options{}.observer(log.observer())};
  const auto of_server = [&](std::size_t index, event_kind kind) {
    return [kind, place = "127.0.0.1:" + std::to_string(servers.server(index).port())](const event& e) {
      return e.kind == kind && e.text.find(place) != std::string::npos;
    };
  };
  auto held = mutex{locks, "stock"}.acquire();
  for (std::size_t each = 0; each < servers.size(); ++each)
    EXPECT_TRUE(log.await(of_server(each, event_kind::connected))) << each;

  servers.server(3).kill();
  const auto disconnected = log.await(of_server(3, event_kind::disconnected));
  ASSERT_TRUE(disconnected);
  EXPECT_EQ(disconnected->code, errc::unavailable);
  EXPECT_EQ(renew(held), renewal::renewed);
  const auto failed = log.await(of_server(3, event_kind::connect_failed));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, errc::unavailable);
  EXPECT_FALSE(log.has(event_kind::lost));

  servers.server(3).start();
  const auto is_back = [&](const event& e) {
    return of_server(3, event_kind::connected)(e) && e.at > disconnected->at;
  };
  await([&] { return renew(held) == renewal::renewed && std::ranges::any_of(log.all(), is_back); },
        "the server that is back is not connected to");
  EXPECT_GE(locks.statistics().connects, servers.size() + 1);
  EXPECT_GE(locks.statistics().disconnects, 1U);
}

}  // namespace
}  // namespace holdfast::faults
