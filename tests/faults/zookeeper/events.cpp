// What an observer hears of connections to ZooKeeper. The C client makes them, and makes them again.

#include "faults/connection_events.hpp"
#include "faults/zookeeper/on_zookeeper.hpp"
#include "support/event_log.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

using test::ending;
using test::event_log;
using test::fault_proxy;
using testing::HasSubstr;

class zookeeper_events : public on_zookeeper {
 protected:
  std::string place() const { return "127.0.0.1:" + std::to_string(line_.port()); }

  fault_proxy line_{server_.port()};
  event_log log_;
  client locks_{"zk://" + place() + "?session_timeout=40s", client_options{}.observer(log_.observer())};
};

TEST_F(zookeeper_events, tell_of_a_connection_that_breaks_and_is_made_again) {
  auto held = mutex{locks_, "stock"}.acquire();
  EXPECT_EQ(locks_.statistics().connects, 1U);
  expect_break_and_return(log_, line_);
  EXPECT_EQ(renew(held), renewal::renewed);
  const client_statistics s = locks_.statistics();
  EXPECT_GE(s.disconnects, 1U);
  EXPECT_EQ(s.connects, s.disconnects + 1);
}

TEST_F(zookeeper_events, tell_of_a_server_that_cannot_be_connected_to) {
  (void)mutex{locks_, "warm"}.acquire();
  line_.refuse(true);
  line_.cut_all(ending::reset);
  ASSERT_TRUE(log_.await(event_kind::disconnected));
  auto claim = std::async(std::launch::async, [&] { return mutex{locks_, "stock", patient()}.acquire(); });
  const auto failed = log_.await(event_kind::connect_failed);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, errc::unavailable);
  EXPECT_THAT(failed->text, HasSubstr(place()));
  EXPECT_GE(locks_.statistics().connect_failures, 1U);
  line_.refuse(false);
  EXPECT_TRUE(claim.get().held());
}

}  // namespace
}  // namespace holdfast::faults
