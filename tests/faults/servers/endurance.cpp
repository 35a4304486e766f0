// SPDX-License-Identifier: Apache-2.0
// Many clients one after the other, and nothing that grows with them, on either side.

#include "faults/endurance.hpp"

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

class server_endurance : public on_each_server {};

TEST_P(server_endurance, clients_one_after_the_other_leave_nothing_behind) {
  actor other;
  const auto cycle = [&](int clients) {
    EXPECT_EQ(other.ask("clients " + url() + ' ' + std::to_string(clients), 150s), "cycled");
  };
  cycle(GetParam().some_clients / 2);
  // The server may hear of the end of the last one later.
  await([&] { return server_->connections() == 0; }, "connections stay");
  const auto before = usage_of(other);
  const auto left = server_->what_is_left();
  cycle(test::amount(GetParam().some_clients, GetParam().many_clients / share));
  expect_no_growth(before, usage_of(other));
  await([&] { return server_->connections() == 0; }, "connections stay");
  for (const auto& [name, now] : server_->what_is_left()) {
    EXPECT_LE(now.count, left.at(name).count + now.may_grow_by) << name;
  }
}

HOLDFAST_ON_EACH_SERVER(server_endurance, server_kinds, any_kind<server>);

}  // namespace
}  // namespace holdfast::faults
