// SPDX-License-Identifier: Apache-2.0
// Messages on a client's channel are hints, whoever sends them: another user who may publish can neither make
// a client believe in a grant, nor end a lease. A grant is believed that comes with the secret of its claim.
// Whoever may read that in the keys, and publish, can make two hold, as whoever may write locks can.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <sstream>

#include "faults/faults.hpp"
#include "faults/redis/hand_over.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using testing::StartsWith;

class redis_notifications : public testing::Test {
 protected:
  redis_notifications() {
    EXPECT_EQ(server_.ask({"ACL", "SETUSER", "talker", "on", ">secret", "resetkeys", "allchannels", "-@all",
                           "+publish", "+auth"}),
              "OK");
    EXPECT_EQ(server_.ask({"ACL", "SETUSER", "reader", "on", ">secret", "~*", "resetchannels", "-@all",
                           "+@read", "+auth"}),
              "OK");
  }
  [[nodiscard]] std::unique_ptr<test::redis_console> as(const std::string& user) const {
    auto console = server_.console();
    EXPECT_EQ(console->ask({"AUTH", user, "secret"}), "OK");
    return console;
  }

  /// All that is needed for a message, as it stands in a claim: "token owner since client ...".
  struct address {
    std::string owner;
    std::string token;
    std::string client;
    std::string secret;  // with its "/"
    [[nodiscard]] std::vector<std::string> message(const std::string& kind,
                                                   const std::string& proof = {}) const {
      return {"PUBLISH", "holdfast:client:" + client, kind + ' ' + owner + ' ' + token + proof};
    }
  };
  static address address_in(const std::string& claim) {
    std::istringstream fields{claim};
    address a;
    std::string since;
    fields >> a.token >> a.owner >> since >> a.client;
    const auto end = std::min(a.client.find('/'), a.client.size());
    a.secret = a.client.substr(end);
    a.client.resize(end);
    return a;
  }
  address holder() { return address_in(server_.ask({"GET", "holdfast:stock"})); }
  address waiter() { return address_in(server_.ask({"ZRANGE", side + "waiters", "-1", "-1"})); }

  /// When they are answered, what was published before has been heard.
  static void hear_out(const client& one) {
    for (int i = 0; i < 3; ++i) (void)one.inspect("stock");
  }

  static inline const std::string side = "{holdfast:stock}\x1f";
  test::redis_server server_;
  client locks_{server_.url()};
  client others_{server_.url()};
};

TEST_F(redis_notifications, that_are_forged_end_no_lease) {
  auto held = mutex{locks_, "stock"}.acquire();
  ASSERT_EQ(as("talker")->ask(holder().message("revoked")), "1");
  hear_out(locks_);
  EXPECT_TRUE(held.held());
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
}

TEST_F(redis_notifications, that_are_forged_make_nobody_believe_in_a_grant) {
  auto held = mutex{locks_, "stock"}.acquire();
  std::atomic<bool> is_held{true};
  auto next = std::async(std::launch::async, [&] {
    const auto lease = mutex{others_, "stock"}.acquire();
    return is_held.load();
  });
  expect_waiter(locks_);
  const auto talker = as("talker");
  const auto place = waiter().token;
  for (const std::string kind : {"granted", "look", "revoked", "granted"}) {
    for (const std::string proof : {"", "/0", "/1234567890abcdef"}) {
      ASSERT_EQ(talker->ask(waiter().message(kind, proof)), "1") << kind;
      hear_out(others_);
      EXPECT_EQ(next.wait_for(0s), std::future_status::timeout) << kind << proof;
      EXPECT_EQ(waiter().token, place) << "it stands where it stood";
    }
  }
  is_held = false;
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(next.get()) << "it held while another did";
}

TEST_F(redis_notifications, that_prove_a_grant_save_a_look) {
  EXPECT_EQ(fewest_scripts_of_a_hand_over(server_, locks_, others_), 1);
}

// A process that stood still reads of its grant and of its end at once.
TEST_F(redis_notifications, of_a_grant_that_has_ended_by_force_since_begin_no_lease) {
  auto held = mutex{locks_, "stock"}.acquire();
  const auto waiter = start(server_.url());
  waiter->tell("hold stock");
  expect_waiter(locks_);
  waiter->send(SIGSTOP);
  EXPECT_FALSE(held.release());
  await([&] { return locks_.force_release("stock") == 1; }, "it was granted");
  auto then = mutex{locks_, "stock"}.acquire();
  waiter->send(SIGCONT);
  expect_waiter(locks_);
  const fencing_token token = then.token();
  EXPECT_FALSE(then.release());
  EXPECT_GT(test::token_in(waiter->hear()), token);
}

// So the rights to read keys and to publish together are those of a user of the locks.
TEST_F(redis_notifications, are_believed_if_whoever_may_read_keys_forges_them) {
  const auto held = mutex{locks_, "stock"}.acquire();
  auto next = std::async(std::launch::async, [&] { return mutex{others_, "stock"}.acquire(); });
  expect_waiter(locks_);
  ASSERT_NE(waiter().secret, "");
  hear_out(others_);  // it knows its place
  ASSERT_EQ(as("talker")->ask(waiter().message("granted", waiter().secret)), "1");
  const auto lease = next.get();
  EXPECT_TRUE(lease.held() && held.held());
}

TEST_F(redis_notifications, have_secrets_that_are_shown_to_nobody) {
  auto held = mutex{locks_, "stock"}.acquire();
  auto next = std::async(std::launch::async, [&] { return mutex{others_, "stock"}.acquire(); });
  expect_waiter(locks_);
  const std::string secret = waiter().secret.substr(1);
  ASSERT_NE(secret, "");
  const auto state = locks_.inspect("stock");
  for (const auto* claims : {&state->holders, &state->waiters}) {
    for (const claim_state& each : *claims) {
      for (const std::string& shown : {each.owner, each.claimant.host, each.claimant.program,
                                       each.claimant.label, each.claimant.value.value_or("")}) {
        EXPECT_EQ(shown.find(secret), std::string::npos) << shown;
      }
    }
  }
  EXPECT_FALSE(held.release());
  next.get();
}

TEST_F(redis_notifications, cannot_be_sent_by_who_may_only_read) {
  const auto held = mutex{locks_, "stock"}.acquire();
  const auto reader = as("reader");
  EXPECT_THAT(reader->ask({"GET", "holdfast:stock"}), testing::HasSubstr(holder().owner))
      << "it stands there for all to read";
  EXPECT_THAT(reader->ask(holder().message("revoked")), StartsWith("-NOPERM"));
  EXPECT_THAT(reader->ask({"DEL", "holdfast:stock"}), StartsWith("-NOPERM"));
}

}  // namespace
}  // namespace holdfast::faults
