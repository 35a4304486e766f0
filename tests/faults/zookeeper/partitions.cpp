// SPDX-License-Identifier: Apache-2.0
// Networks that lose every packet between two sides, and tell neither.

#include "faults/zookeeper/on_zookeeper.hpp"
#include "support/network_namespace.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace holdfast::faults {
namespace {

using test::network_namespace;
using test::zookeeper_ensemble;

class zookeeper_partitions : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = network_namespace::problem()) GTEST_SKIP() << *problem;
    island_.emplace();
  }
  /// A process on the island.
  [[nodiscard]] std::unique_ptr<actor> start(const std::string& url, const std::string& options) const {
    auto command = island_->within();
    command.emplace_back(HOLDFAST_TEST_ACTOR);
    auto other = std::make_unique<actor>(command, std::vector<std::string>{});
    EXPECT_EQ(other->ask("open " + url + ' ' + options), "open");
    return other;
  }
  /// Cuts the island off from a holder's lock for which another waits, and returns when that one has it.
  void cut_before_the_next(actor& holder, client& locks) {
    const auto first = holder.hold("stock");
    auto waiter = std::async(std::launch::async, [&] { return mutex{locks, "stock"}.acquire(); });
    expect_waiter(locks);
    holder.tell("claim");
    island_->cut();
    const auto next = waiter.get();
    const auto granted = boot_clock::now();
    EXPECT_GT(next.token(), first);
    expect_gone_before(granted, holder);
    island_->heal();
  }
  /// The holder on the island has believed in its lease only before `granted`, and lives on.
  static void expect_gone_before(boot_clock::time_point granted, actor& holder) {
    const auto claimed = hear_answer(holder);
    ASSERT_TRUE(claimed.starts_with("claimed ")) << claimed;
    EXPECT_LT(std::stoll(claimed.substr(8)), granted.time_since_epoch().count());
    holder.tell("report");
    EXPECT_EQ(hear_answer(holder), "lost");
  }

  std::optional<network_namespace> island_;
};

TEST_F(zookeeper_partitions, that_cut_a_holder_off_end_its_lease_before_the_next) {
  const zookeeper_server server{{.host = island_->outside()}};
  const auto holder = start(server.url(), "ttl=6000");
  client locks{server.url("?session_timeout=40s")};
  cut_before_the_next(*holder, locks);
  holder->tell("hold other");
  EXPECT_TRUE(hear_token(*holder));
}

// Apache's client would give the connection up after 40 minutes, and the system after 15.
TEST_F(zookeeper_partitions, are_noticed_by_what_nobody_acknowledges_however_long_the_session_is) {
  const zookeeper_server server{
      {.lines = {"maxSessionTimeout=3600000"}, .host = island_->inside(), .before = island_->within()}};
  client locks{server.url("?session_timeout=1h")};
  mutex{locks, "stock"}.acquire().release();
  island_->cut();
  await(
      [&] {
        const auto failed = failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
        return failed.text.find("no server can be connected to") != std::string::npos;
      },
      "the connection is kept");
  island_->heal();
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

// The old leader goes on answering those on its side for a while, and the others begin to count sessions
// anew.
TEST_F(zookeeper_partitions, that_cut_the_leader_off_end_the_leases_on_its_side_before_the_next) {
  const zookeeper_server::settings main{.host = island_->outside()};
  zookeeper_ensemble three{std::array{
      main, main, zookeeper_server::settings{.host = island_->inside(), .before = island_->within()}}};
  zookeeper_server& alone = three[2];
  while (alone.mode() != "leader") {
    auto& led = three.leader();
    if (&led == &alone) break;
    led.kill();
    static_cast<void>(three.leader());
    three.start({&led});
  }
  const auto holder = start(alone.url(), "ttl=6000");
  client locks{"zk://" + three[0].address() + ',' + three[1].address() + "?session_timeout=40s"};
  cut_before_the_next(*holder, locks);
  await([&] { return alone.mode() == "follower"; }, "it does not follow");
  holder->tell("hold other");
  EXPECT_TRUE(hear_token(*holder));
}

}  // namespace
}  // namespace holdfast::faults
