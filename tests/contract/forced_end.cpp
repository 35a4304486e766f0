// SPDX-License-Identifier: Apache-2.0
// What a holder notices of a force_release.

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

class forced_end : public on_each_store {};

// The next renewal, after 200 s, would notice it too; the notification has to come sooner. A holder that
// polls hears of it at its next renewal.
TEST_P(forced_end, is_noticed_at_once_also_where_its_client_has_never_locked) {
  const bool polls = store_->url().find("notify=poll") != std::string::npos;
  auto held = mutex{one(), "stock", lock_options{}.ttl(polls ? 15s : 10min)}.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);  // on ZooKeeper a hold is watched from its first renewal on
  client& stranger = open();
  EXPECT_TRUE(stranger.force_release("stock", held.token()));
  EXPECT_TRUE(look().sees([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.loss(), loss_reason::ended_at_store);
}

HOLDFAST_ON_EACH_STORE(forced_end, any_store);

}  // namespace
}  // namespace holdfast::contract
