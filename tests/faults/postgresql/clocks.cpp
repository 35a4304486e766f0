// SPDX-License-Identifier: Apache-2.0
// The server's clock in sessions of several time zones.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

class postgresql_clocks : public on_postgresql {};

TEST_F(postgresql_clocks, in_sessions_of_any_time_zone_are_the_same) {
  client here{server_.url()};
  auto held = mutex{here, "stock", lock_options{}.ttl(60s)}.acquire();
  server_.ask("ALTER ROLE holdfast SET timezone = 'Asia/Kathmandu'");
  client elsewhere{server_.url()};
  EXPECT_FALSE(mutex(elsewhere, "stock").try_lock());
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  auto next = mutex{elsewhere, "stock", lock_options{}.ttl(60s)}.acquire();
  EXPECT_GT(next.token(), held_token);
  EXPECT_FALSE(mutex(here, "stock").try_lock());
}

}  // namespace
}  // namespace holdfast::faults
