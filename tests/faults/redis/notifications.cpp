// Messages on a client's channel are hints, whoever sends them: another user, who may publish and may even
// read all that stands in the keys, can neither make a client believe in a grant, nor end a lease.

#include <atomic>
#include <future>
#include <sstream>

#include "faults/faults.hpp"
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
    [[nodiscard]] std::vector<std::string> message(const std::string& kind) const {
      return {"PUBLISH", "holdfast:client:" + client, kind + ' ' + owner + ' ' + token};
    }
  };
  static address address_in(const std::string& claim) {
    std::istringstream fields{claim};
    address a;
    std::string since;
    fields >> a.token >> a.owner >> since >> a.client;
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
    ASSERT_EQ(talker->ask(waiter().message(kind)), "1") << kind;
    hear_out(others_);
    EXPECT_EQ(next.wait_for(0s), std::future_status::timeout) << kind;
    EXPECT_EQ(waiter().token, place) << "it stands where it stood";
  }
  is_held = false;
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(next.get()) << "it held while another did";
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
