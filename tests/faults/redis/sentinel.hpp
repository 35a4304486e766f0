// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>

#include "faults/faults.hpp"
#include "support/sentinel_group.hpp"

namespace holdfast::faults {

/// Three servers, of which one is the primary, and three Sentinels.
class on_sentinels : public testing::Test {
 protected:
  using group = test::sentinel_group;

  explicit on_sentinels(const group::settings& settings = {}) : group_{settings} {}

  /// Long enough for any failover.
  static lock_options lasting() { return lock_options{}.ttl(120s).retry(retry_policy{}.limit(120s)); }
  /// The primary knows the lease, with its token, and gives it back.
  void expect_known(lease& held, const std::string& name = "stock") {
    EXPECT_EQ(renew(held), renewal::renewed);
    const auto holders = client{group_.primary().url()}.inspect(name).value_or(lock_state{}).holders;
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(holders[0].token, held.token());
  }
  static void expect_released(lease& held) { EXPECT_FALSE(held.release()); }
  /// Of the process. A thread that has been joined is there until the kernel has done with it.
  static std::ptrdiff_t threads() {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/task"},
                         std::filesystem::directory_iterator{});
  }
  /// How often clients have introduced themselves to a server. Sentinels and replicas do not.
  static std::int64_t introductions(test::redis_server& server) { return server.calls("hello"); }
  /// Clients that a Sentinel notifies of failovers, other Sentinels aside.
  static int subscribers(test::redis_server& sentinel) {
    const auto clients = sentinel.ask({"CLIENT", "LIST"});
    int count = 0;
    for (auto at = clients.find(" sub=2 "); at != std::string::npos; at = clients.find(" sub=2 ", at + 1))
      ++count;
    return count;
  }

  group group_;
};

}  // namespace holdfast::faults
