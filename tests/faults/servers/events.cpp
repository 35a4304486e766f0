// SPDX-License-Identifier: Apache-2.0
// What an observer hears of a connection that breaks, and of leases whose renewals do not get through.

#include "faults/servers/servers.hpp"
#include "support/event_log.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

using test::direction;
using test::ending;
using test::event_log;
using test::fault_proxy;
using testing::HasSubstr;

class server_events : public on_each_server {
 protected:
  [[nodiscard]] std::string place() const { return "127.0.0.1:" + std::to_string(line_.port()); }
  [[nodiscard]] std::string url_through_line() const { return server_->url(line_.port(), ""); }

  fault_proxy line_{server_->port()};
  event_log log_;
  client locks_{url_through_line(),
                client_options{}.observer(log_.observer()).locks(lock_options{}.label("reindex"))};
};

TEST_P(server_events, tell_of_a_connection_that_breaks_and_is_made_again) {
  auto held = mutex{locks_, "stock"}.acquire();
  const auto connected = log_.await(event_kind::connected);
  ASSERT_TRUE(connected);
  EXPECT_THAT(connected->text, HasSubstr(place()));
  EXPECT_FALSE(connected->code);
  EXPECT_TRUE(connected->name.empty());

  line_.cut_all(ending::reset);
  const auto disconnected = log_.await(event_kind::disconnected);
  ASSERT_TRUE(disconnected);
  EXPECT_THAT(disconnected->text, HasSubstr(place()));
  EXPECT_EQ(disconnected->code, errc::unavailable);
  EXPECT_TRUE(
      log_.await([&](const event& e) { return e.kind == event_kind::connected && e.at > disconnected->at; }));
  EXPECT_EQ(renew(held), renewal::renewed);
  const client_statistics s = locks_.statistics();
  EXPECT_GE(s.disconnects, 1U);
  EXPECT_GT(s.connects, s.disconnects);
}

TEST_P(server_events, tell_of_a_server_that_cannot_be_connected_to_and_of_the_claim_in_trouble) {
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
  const auto trouble = log_.await(event_kind::trouble);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->name, "stock");
  EXPECT_EQ(trouble->code, errc::unavailable);
  EXPECT_THAT(trouble->text, HasSubstr(place()));
  line_.refuse(false);
  EXPECT_TRUE(claim.get().held());
}

HOLDFAST_ON_EACH_SERVER(server_events, server_kinds, any_kind<server>);

class renewal_events : public server_events {};

TEST_P(renewal_events, tell_of_a_late_renewal_before_the_loss) {
  const auto held = mutex{locks_, "stock", lock_options{}.ttl(12s).label("reindex")}.acquire();
  line_.interfere(direction::to_client, {.swallow = true});
  const auto late = log_.await(event_kind::renewal_late);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->name, "stock");
  EXPECT_EQ(late->token, held.token());
  EXPECT_EQ(late->label, "reindex");
  EXPECT_EQ(late->ttl, 12s);
  EXPECT_GE(late->elapsed, 2s) << "a sixth of the ttl";
  EXPECT_EQ(late->code, errc::unavailable);
  const auto lost = log_.await(event_kind::lost);
  ASSERT_TRUE(lost);
  EXPECT_GT(lost->at, late->at);
  EXPECT_EQ(lost->token, held.token());
  EXPECT_EQ(lost->loss, loss_reason::not_renewed);
  const client_statistics s = locks_.statistics();
  EXPECT_EQ(s.late_renewals, 1U);
  EXPECT_EQ(s.lost_not_renewed, 1U);
}

TEST_P(renewal_events, tell_of_a_renewal_that_is_confirmed_late) {
  despite_stalls(4s, [&](std::chrono::milliseconds ttl) {
    const event_log log;
    client locks{url_through_line(), client_options{}.observer(log.observer())};
    const auto held = mutex{locks, "stock", lock_options{}.ttl(ttl)}.acquire();
    line_.interfere(direction::to_client, {.stall = true});
    ASSERT_TRUE(log.await(event_kind::renewal_late));
    line_.heal();
    const auto confirmed =
        log.await([](const event& e) { return e.kind == event_kind::renewal_late && !e.code; });
    ASSERT_TRUE(confirmed);
    EXPECT_GE(confirmed->elapsed, ttl / 6);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(locks.statistics().late_renewals, 1U);
    EXPECT_GE(locks.statistics().lateness.sum, ttl / 6);
  });
}

HOLDFAST_ON_EACH_SERVER(renewal_events, server_kinds,
                        [](const server_kind& kind) { return !kind.keeps_sessions; });

}  // namespace
}  // namespace holdfast::faults
