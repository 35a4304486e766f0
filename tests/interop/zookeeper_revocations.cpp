// SPDX-License-Identifier: Apache-2.0
// Requests to release, from and to Curator: Revoker.attemptRevoke, and InterProcessMutex.makeRevocable.

#include <chrono>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>

#include "interop/curator.hpp"
#include "interop/kazoo.hpp"
#include "support/failing.hpp"
#include "support/zookeeper_server.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class zookeeper_revocations : public testing::Test {
 protected:
  /// The servers tell nobody that a node's data has changed, but those who watch the node.
  static bool comes_true(const std::function<bool()>& is_so) {
    for (const auto until = boot_clock::now() + 60s; boot_clock::now() < until;) {
      if (is_so()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  std::error_code refusal(const std::string& name) {
    return test::failure_of([&] { return locks_.request_release(name, "why"); }).code;
  }

  test::zookeeper_server server_;
  client locks_{server_.url()};
};

TEST_F(zookeeper_revocations, of_curators_revoker_reach_our_holder) {
  auto held = mutex{locks_, "stock", lock_options{}.label("ours")}.acquire();
  ASSERT_EQ(held.renew(), renewal::renewed);  // watched from its first renewal on
  std::promise<void> heard;
  const std::stop_callback callback{held.release_requested(), [&] { heard.set_value(); }};
  curator java{server_.address()};
  EXPECT_EQ(java.ask("revoke /stock"), "revoking");
  ASSERT_EQ(heard.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(held.release_request(), "");
  EXPECT_TRUE(held.held());

  // The node says again who holds.
  EXPECT_TRUE(comes_true([&] { return java.ask("tree /stock").find("__REVOKE__") == std::string::npos; }));
  EXPECT_THAT(java.ask("tree /stock"), HasSubstr("holdfast%201%20"));
  const auto state = locks_.inspect("stock");
  ASSERT_TRUE(state && state->holders.size() == 1);
  EXPECT_EQ(state->holders[0].claimant.pid, ::getpid());
  EXPECT_EQ(state->holders[0].claimant.label, "ours");
  EXPECT_EQ(state->holders[0].claimant.release_request, "");
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(locks_.force_release("stock"), 1U);  // it is ours to end, too
}

TEST_F(zookeeper_revocations, of_curators_revoker_are_heard_with_the_first_renewal_at_the_latest) {
  auto held = mutex{locks_, "stock", lock_options{}.ttl(6s)}.acquire();
  curator java{server_.address()};
  EXPECT_EQ(java.ask("revoke /stock"), "revoking");
  EXPECT_TRUE(comes_true([&] { return held.release_requested().stop_requested(); }));
}

TEST_F(zookeeper_revocations, of_ours_reach_curators_listener) {
  curator java{server_.address()};
  ASSERT_EQ(java.ask("revocable /stock"), "locked");
  EXPECT_EQ(locks_.request_release("stock", "why"), 1U);
  EXPECT_EQ(java.ask("revocation"), "revoked");
  const auto state = locks_.inspect("stock");
  ASSERT_TRUE(state && state->holders.size() == 1);
  EXPECT_EQ(state->holders[0].claimant.release_request, "");
  EXPECT_EQ(state->holders[0].claimant.label, "");
  EXPECT_EQ(java.ask("unlock"), "unlocked");
  EXPECT_TRUE(mutex(locks_, "stock").try_acquire());
}

TEST_F(zookeeper_revocations, are_refused_where_curator_and_kazoo_do_not_listen) {
  curator java{server_.address()};
  ASSERT_EQ(java.ask("lock latch /boss"), "locked");
  const auto before = java.ask("tree /boss");
  EXPECT_EQ(refusal("boss"), errc::wrong_type);
  EXPECT_EQ(java.ask("tree /boss"), before);  // which is the leader's id
  curator other{server_.address()};
  ASSERT_EQ(other.ask("lock permit/2 /box"), "locked");
  EXPECT_EQ(refusal("box"), errc::wrong_type);
  kazoo python{server_.address()};
  ASSERT_EQ(python.ask("lock exclusive /stock"), "locked");
  EXPECT_EQ(refusal("stock"), errc::wrong_type);
}

}  // namespace
}  // namespace holdfast::interop
