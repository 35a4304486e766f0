// SPDX-License-Identifier: Apache-2.0
// A failover that loses nothing ends no lease: the client hangs up on a server that has become a replica, and
// goes on with the one to which its URL leads by then.

#include <filesystem>

#include "faults/faults.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::redis_server;

class redis_failovers : public testing::Test {
 protected:
  redis_failovers() {
    lead_to(former_);
    next_.replicate(former_);
    former_.await_replicas(1);
  }

  /// From now on the URL means that server, as a host's name does. Connections that there are stay.
  void lead_to(const redis_server& server) {
    const auto link = folder_.file("link");
    std::filesystem::create_symlink(server.socket(), link);
    std::filesystem::rename(link, folder_.file("name"));
  }
  [[nodiscard]] std::string url() const { return "unix:" + folder_.file("name") + "?failover_guard=0"; }
  static bool is_primary(redis_server& server) { return server.ask({"ROLE"}).starts_with("master"); }

  /// As a user's program does it: somebody holds, and does nothing else.
  template <class Failover>
  void expect_lease_to_survive(Failover fail_over) {
    client locks{url()};
    auto held = mutex{locks, "stock", lock_options{}.ttl(20s)}.acquire();
    await([&] { return next_.ask({"EXISTS", "holdfast:stock"}) == "1"; }, "the replica has not got it");
    lead_to(next_);
    fail_over();
    await([&] { return is_primary(next_) && !is_primary(former_); }, "there is no failover");
    EXPECT_EQ(renew(held), renewal::renewed);
    const auto holders = client{next_.url()}.inspect("stock").value_or(lock_state{}).holders;
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(holders[0].token, held.token());
    EXPECT_FALSE(held.release());
    EXPECT_EQ(next_.ask({"EXISTS", "holdfast:stock"}), "0");
  }

  redis_server former_{{.lines = {"repl-diskless-sync-delay 0"}}};
  redis_server next_;
  test::scratch_folder folder_;
};

TEST_F(redis_failovers, that_are_planned_end_no_lease) {
  expect_lease_to_survive(
      [&] { ASSERT_EQ(former_.ask({"FAILOVER", "TO", "127.0.0.1", std::to_string(next_.port())}), "OK"); });
}

TEST_F(redis_failovers, by_hand_end_no_lease) {
  expect_lease_to_survive([&] {
    ASSERT_EQ(next_.ask({"REPLICAOF", "NO", "ONE"}), "OK");
    former_.replicate(next_);
  });
}

}  // namespace
}  // namespace holdfast::faults
