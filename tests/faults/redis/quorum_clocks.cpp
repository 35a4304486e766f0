// SPDX-License-Identifier: Apache-2.0
// Wall clocks of a majority that are set back, behind the tokens that the servers have accepted. The
// simulator has those that are set forward, and those of one server.

#include <string>

#include "faults/faults.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using test::redis_quorum;

class redis_quorum_clocks : public testing::Test {
 protected:
  void set_clocks(std::initializer_list<std::size_t> of, std::chrono::milliseconds ahead) {
    for (const std::size_t each : of) servers_.server(each).set_clock(ahead);
  }
  void await_hold_on(std::size_t count) {
    await([&] { return servers_.holds_of("stock") == count; }, "the hold is on other servers");
  }

  redis_quorum servers_{{.own_clock = true}};
  std::string url_ = servers_.url("?node_timeout=20s");  // whatever the machine does, nobody is silent
  client one_{url_};
  client two_{url_};
};

TEST_F(redis_quorum_clocks, set_back_on_a_majority_let_nobody_else_in) {
  auto held = mutex{one_, "stock", lock_options{}.ttl(60s)}.acquire();
  await_hold_on(5);
  set_clocks({0, 2, 4}, -1h);
  client newcomer{url_};
  EXPECT_FALSE(mutex(newcomer, "stock").try_lock());
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_FALSE(mutex(newcomer, "stock").try_lock());
  EXPECT_FALSE(held.release());
  EXPECT_GT(mutex(two_, "stock", patient()).acquire().token(), held.token());
}

TEST_F(redis_quorum_clocks, set_forward_on_a_majority_and_back_leave_locks_that_can_be_taken) {
  set_clocks({0, 2, 4}, 1h);
  const auto before = mutex{one_, "stock", patient()}.acquire().token();
  set_clocks({0, 2, 4}, 0s);
  EXPECT_GT(mutex(two_, "stock", patient()).acquire().token(), before);
}

}  // namespace
}  // namespace holdfast::faults
