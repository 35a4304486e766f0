// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faults/faults.hpp"
#include "support/postgresql_server.hpp"

namespace holdfast::faults {

using test::postgresql_server;

/// A server, an operator who looks behind it, and the lock "stock".
class on_postgresql : public testing::Test {
 protected:
  explicit on_postgresql(postgresql_server::settings settings = {}) : server_{std::move(settings)} {}

  /// Connections of our clients, with those that are not gone yet.
  std::int64_t sessions() {
    return server_.number("SELECT count(*) FROM pg_stat_activity WHERE usename = 'holdfast'");
  }
  /// Ends our clients' connections, as an operator would. \return how many.
  std::int64_t terminate_all() {
    return server_.number(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'holdfast'");
  }
  /// Until the client has found out that what stood in the way is gone; it looks with a backoff.
  static void expect_recovery(client& locks) {
    const auto locked = [&] { return !failure_of([&] { (void)mutex{locks, "recovered"}.acquire(); }).code; };
    await(locked, "it does not recover");
  }
  /// Nothing stays of what was done: the name is free, and nobody stands in its queue.
  void expect_free(const std::string& name = "stock") {
    client direct{server_.url()};
    EXPECT_TRUE(mutex(direct, name).try_acquire_for(60s));
    await([&] { return direct.list().empty(); }, "something is left behind");
  }

  postgresql_server server_;
};

}  // namespace holdfast::faults
