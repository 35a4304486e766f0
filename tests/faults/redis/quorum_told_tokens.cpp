// SPDX-License-Identifier: Apache-2.0
// What a holder writes beside its hold at servers that may not have its token: see docs/adr/0029.

#include <string>

#include "faults/faults.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using test::redis_quorum;
using testing::HasSubstr;

/// Three servers that have each write on the disk before its reply, so that a restart costs neither hold nor
/// vote. But the holder cannot know what a server still has, and says its token again.
class redis_quorum_told_tokens : public testing::Test {
 protected:
  static lock_options renewed_often() { return lock_options{}.ttl(9s).retry(patient().retry()); }

  void restart(std::size_t server) {
    servers_.server(server).kill();
    servers_.server(server).start();
  }
  [[nodiscard]] std::string exclusive_hold_at(std::size_t server) {
    return servers_.server(server).ask({"GET", "holdfast:stock"});
  }
  [[nodiscard]] std::string shared_holds_at(std::size_t server) {
    return servers_.server(server).ask({"ZRANGE", "{holdfast:stock}\x1fholders", "0", "-1"});
  }
  static std::string token_in_metadata(fencing_token token) {
    return "{\"token\":" + std::to_string(token.value()) + ",";
  }

  redis_quorum servers_{{.servers = 3, .append_only = true}};
  client locks_{servers_.url("?node_timeout=20s")};
};

TEST_F(redis_quorum_told_tokens, stand_there_after_a_restart_beside_a_request_to_release) {
  const auto held = mutex{locks_, "stock", renewed_often()}.acquire();
  await([&] { return servers_.holds_of("stock") == 3; }, "a server has no hold");
  EXPECT_EQ(client{servers_.url()}.request_release("stock", "deployment"), 1U);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    await([&] { return exclusive_hold_at(i).find("deployment") != std::string::npos; },
          "a server was not asked");
    restart(i);
    await([&] { return exclusive_hold_at(i).find(token_in_metadata(held.token())) != std::string::npos; },
          "a server that was restarted is not told the token");
    EXPECT_THAT(exclusive_hold_at(i), HasSubstr(R"(,"release_request":"deployment"})"));
  }
  const auto state = client{servers_.url()}.inspect("stock").value_or(lock_state{});
  ASSERT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(state.holders.front().claimant.release_request, "deployment");
  EXPECT_TRUE(held.held());
}

TEST_F(redis_quorum_told_tokens, of_readers_stand_there_after_a_restart_beside_a_request_to_release) {
  const auto held = shared_mutex{locks_, "stock", renewed_often()}.acquire_shared();
  await([&] { return servers_.holds_of("stock") == 3; }, "a server has no hold");
  EXPECT_EQ(client{servers_.url()}.request_release("stock", "deployment"), 1U);
  await([&] { return shared_holds_at(0).find("deployment") != std::string::npos; }, "a server was not asked");
  restart(0);
  await([&] { return shared_holds_at(0).find(token_in_metadata(held.token())) != std::string::npos; },
        "a server that was restarted is not told the token");
  EXPECT_THAT(shared_holds_at(0), HasSubstr(R"(,"release_request":"deployment"})"));
  EXPECT_TRUE(held.held());
}

}  // namespace
}  // namespace holdfast::faults
