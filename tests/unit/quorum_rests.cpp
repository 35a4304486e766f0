// SPDX-License-Identifier: Apache-2.0
// A hold that nobody keeps any more, at several servers: the last renewal goes to all of them.

#include "unit/quorum_coordinator.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;

class quorum_rests : public quorum_coordinator {
 protected:
  static request_form last_renewal() {
    request_form r = renewal();
    r.holds.front().ttl = 5s;
    r.is_last = true;
    return r;
  }
};

TEST_F(quorum_rests, is_withdrawn_where_the_claim_still_waits) {
  hold_at({0, 1, 2});
  reply({3, 4}, of(queued()));
  const auto got = send(last_renewal());
  EXPECT_EQ(addressees(task::renew), everywhere);
  EXPECT_EQ(form_of(first_at(0)).holds.front().ttl, 5s);
  reply({0, 1}, kept(true));
  reply(3, kept(false));
  EXPECT_FALSE(*got);
  EXPECT_EQ(addressees(task::retract), servers{3});
  EXPECT_EQ(form_of(first_at(3)).last, number_of_claim_) << "a later claim of that owner is not meant";
  reply(2, kept(true));
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_TRUE(in<tickets::kept>(got)->each.front());
  EXPECT_EQ(addressees(task::vote), servers{}) << "it is not spread any more";
  bool delivered = false;
  time_.turn([&] { coordinator_.when_delivered([&] { delivered = true; }); });
  reply(4, kept(false));
  EXPECT_EQ(addressees(task::retract), (servers{3, 4}));
  reply(3, of(tickets::done{}));
  EXPECT_FALSE(delivered);
  reply(4, failed(4));
  EXPECT_TRUE(delivered) << "every server that answers has it";
  time_.run_for(1s);
  EXPECT_EQ(addressees(task::retract), servers{4}) << "again";
}

// Servers that have forgotten it grant nothing before their guard is over: those that know it make up for
// them.
TEST_F(quorum_rests, stays_where_it_is_known_when_a_majority_has_lost_it) {
  hold_at({0, 1, 2});
  reply({3, 4}, of(queued()));
  const auto got = send(last_renewal());
  reply({0, 1}, kept(true));
  reply({2, 3, 4}, kept(false));
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_FALSE(in<tickets::kept>(got)->each.front());
  EXPECT_EQ(addressees(task::retract), (servers{2, 3, 4}));
}

TEST_F(quorum_rests, is_heard_of_no_more) {
  hold_at({0, 1, 2});
  reply({3, 4}, of(queued()));
  send(last_renewal());
  reply(everywhere, kept(true));
  time_.turn(
      [&] { coordinator_.on_notification(3, {claim(true).owner, store::notification_kind::granted, {}}); });
  time_.run_for(1min);
  for (const auto& each : in_flight_) EXPECT_TRUE(each.empty());
}

}  // namespace
}  // namespace holdfast::quorum
