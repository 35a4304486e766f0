// Latches and barriers whose processes are killed: what outlives their sessions, and what does not.

#include "faults/zookeeper/on_zookeeper.hpp"

namespace holdfast::faults {
namespace {

class zookeeper_rendezvous : public on_zookeeper {
 protected:
  /// Its session is over long before a ttl.
  [[nodiscard]] std::unique_ptr<actor> start_brief() const {
    return start(server_.url("?session_timeout=1s"));
  }
  [[nodiscard]] std::string lasting() const { return server_.url("?session_timeout=40s"); }
  void expect_leases(std::size_t count) {
    await([&] { return console_.children("/stock/leases").size() == count; }, "so many do not hold");
  }
};

TEST_F(zookeeper_rendezvous, counts_of_killed_processes_stay_until_their_ttl_ends) {
  client locks{lasting()};
  for (int each = 0; each < 2; ++each) {
    const auto dies = start_brief();
    ASSERT_EQ(dies->ask("count stock 2 ttl=20000"), "counted");
    dies->kill();
  }
  expect_leases(0);
  latch ready{locks, "stock", 2};
  EXPECT_TRUE(ready.try_wait());
  // The servers remove the empty node that has their capacity. It is the same latch all the same.
  await(
      [&] {
        const auto there = console_.children("/stock");
        return std::find(there.begin(), there.end(), "leases") == there.end();
      },
      "the empty node stays");
  EXPECT_TRUE(ready.try_wait());
  EXPECT_EQ(failure_of([&] { ready.count_down(); }).code, errc::invalid_argument);
  await([&] { return ready.inspect().arrived == 0; }, "counts stay for ever, though nobody comes");
  ready.count_down(2);
  EXPECT_TRUE(ready.try_wait());
}

TEST_F(zookeeper_rendezvous, a_party_that_has_passed_and_is_killed_lets_slow_ones_pass) {
  client locks{lasting()};
  barrier slow{locks, "stock", 2};
  await([&] { return !slow.arrive_and_wait_for(0s) && slow.inspect().arrived == 1; }, "it does not arrive");
  const auto dies = start_brief();
  ASSERT_EQ(dies->ask("meet stock 2 1 ttl=60000"), "met 0");
  dies->kill();
  expect_leases(1);
  EXPECT_EQ(slow.arrive_and_wait(), 0U);
}

// Elsewhere it counts until its ttl ends.
TEST_F(zookeeper_rendezvous, a_party_that_is_killed_while_it_waits_counts_until_its_session_ends) {
  client locks{lasting()};
  const auto dies = start_brief();
  dies->tell("meet stock 2 1 ttl=3600000");
  const barrier round{locks, "stock", 2};
  await([&] { return round.inspect().arrived == 1; }, "it does not arrive");
  dies->kill();
  await([&] { return round.inspect().arrived == 0; }, "it counts for its ttl");
}

}  // namespace
}  // namespace holdfast::faults
