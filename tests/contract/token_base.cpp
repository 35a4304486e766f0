// SPDX-License-Identifier: Apache-2.0
// token_base=N in a URL: every token of the store plus N, whatever the call. Beside it are clients without
// one, which see the store's own tokens.

#include <cstdint>
#include <future>
#include <string>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

class token_bases : public on_each_store {
 protected:
  static constexpr std::uint64_t base = 5'000'000'000'000'000;

  client& based() {
    const std::string url = store_->url();
    const char* const joint = url.find('?') == std::string::npos ? "?" : "&";
    return clients_.emplace_back(url + joint + "token_base=" + std::to_string(base));
  }
  static fencing_token raised(fencing_token raw) { return fencing_token{raw.value() + base}; }
  static fencing_token lowered(fencing_token based) { return fencing_token{based.value() - base}; }
  fencing_token raw_holder(std::string_view name) {
    const lock_state state = inspect(name);
    return state.holders.size() == 1 ? state.holders.front().token : fencing_token{};
  }
};

TEST_P(token_bases, are_in_the_token_of_a_lease_and_in_all_that_is_read) {
  client& locks = based();
  lease held = mutex{locks, "stock"}.acquire();
  const fencing_token token = held.token();
  EXPECT_EQ(token, raised(raw_holder("stock")));
  const auto seen = locks.inspect("stock");
  ASSERT_TRUE(seen && seen->holders.size() == 1);
  EXPECT_EQ(seen->holders.front().token, token);
  EXPECT_EQ(seen->last_token, token);
  const auto listed = locks.list();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed.front().holder_token, token);
  EXPECT_EQ(listed.front().last_token, token);

  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(held.token(), token);
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(look().sees_holders("stock", 0));
  EXPECT_GT(mutex(locks, "stock").acquire().token(), token);
}

TEST_P(token_bases, are_in_the_token_of_a_waiter_that_is_granted) {
  client& locks = based();
  client& others = based();
  lease held = mutex{locks, "stock"}.acquire();
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  const auto seen = locks.inspect("stock");
  ASSERT_TRUE(seen && seen->waiters.size() == 1);
  EXPECT_GT(seen->waiters.front().token.value(), base);
  const fencing_token first = held.token();
  EXPECT_FALSE(held.release());
  const lease second = next.get();
  EXPECT_GT(second.token(), first);
  EXPECT_EQ(second.token(), raised(raw_holder("stock")));
}

TEST_P(token_bases, stay_through_a_downgrade) {
  client& locks = based();
  shared_mutex stock{locks, "stock"};
  lease held = stock.acquire();
  const fencing_token token = held.token();
  held.downgrade();
  EXPECT_EQ(held.token(), token);
  EXPECT_EQ(raised(raw_holder("stock")), token);
  const lease second = shared_mutex{based(), "stock"}.acquire_shared();
  EXPECT_GT(second.token(), token);
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
}

TEST_P(token_bases, are_in_the_tokens_of_permits_and_sets) {
  client& locks = based();
  lease_set all = lock_set{locks, {"a", "b"}}.acquire();
  EXPECT_EQ(all.token("a"), raised(raw_holder("a")));
  EXPECT_EQ(all.token("b"), raised(raw_holder("b")));
  EXPECT_FALSE(all.release());
  EXPECT_TRUE(look().sees_holders("b", 0));
  HOLDFAST_NEEDS_PERMITS();
  lease permit = counting_semaphore{locks, "pool", 3}.acquire_permits(2);
  EXPECT_EQ(permit.token(), raised(raw_holder("pool")));
  EXPECT_EQ(permit.renew(), renewal::renewed);
  EXPECT_FALSE(permit.release());
  EXPECT_TRUE(look().sees_holders("pool", 0));
}

TEST_P(token_bases, are_in_the_token_of_a_term) {
  client& locks = based();
  election boss{locks, "boss"};
  term held = boss.campaign("here");
  EXPECT_EQ(held.token(), raised(raw_holder("boss")));
  const auto leader = boss.leader();
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->token, held.token());
  held.proclaim("there");
}

TEST_P(token_bases, belong_to_a_token_that_names_a_hold_to_end) {
  client& locks = based();
  lease held = mutex{locks, "stock", lock_options{}.ttl(10min)}.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);  // on ZooKeeper a hold is watched from its first renewal on
  const fencing_token token = held.token();
  EXPECT_FALSE(locks.force_release("stock", lowered(token)));
  EXPECT_FALSE(bystander().force_release("stock", token)) << "seen with another base";
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_TRUE(based().force_release("stock", token));
  EXPECT_TRUE(look().sees([&] { return held.lost().stop_requested(); }));
}

TEST_P(token_bases, belong_to_a_token_that_names_a_holder_to_ask) {
  client& locks = based();
  lease held = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);
  const fencing_token token = held.token();
  EXPECT_FALSE(locks.request_release("stock", lowered(token), "no"));
  EXPECT_FALSE(bystander().request_release("stock", token, "no")) << "seen with another base";
  EXPECT_FALSE(held.release_requested().stop_requested());
  EXPECT_TRUE(based().request_release("stock", token, "please"));
  EXPECT_TRUE(look().sees([&] { return held.release_requested().stop_requested(); }));
  EXPECT_EQ(held.release_request(), "please");
  EXPECT_EQ(based().request_release("stock", "all of you"), 1U);
  EXPECT_EQ(based().force_release("stock"), 1U);
}

HOLDFAST_ON_EACH_STORE(token_bases, any_store);

}  // namespace
}  // namespace holdfast::contract
