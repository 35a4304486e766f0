// SPDX-License-Identifier: Apache-2.0
// lock_set: how long its calls take.

#include <future>
#include <stop_token>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

class lock_set_terms : public on_each_store {};

// As a lease's: who releases need not wait for code that somebody else has registered.
TEST_P(lock_set_terms, a_loss_callback_that_takes_long_delays_no_release) {
  auto held = lock_set{one(), {"a", "b"}}.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);  // on ZooKeeper a hold is watched from its first renewal on
  std::promise<void> begun;
  std::promise<void> end;
  const std::stop_callback on_loss{held.lost(), [&] {
                                     begun.set_value();
                                     end.get_future().wait();
                                   }};
  EXPECT_TRUE(bystander().force_release("b", held.token("b")));
  EXPECT_EQ(begun.get_future().wait_for(60s), std::future_status::ready);
  auto released = std::async(std::launch::async, [&] { held = lease_set{}; });
  EXPECT_EQ(released.wait_for(60s), std::future_status::ready) << "it waits for the callback";
  EXPECT_TRUE(mutex(two(), "a").try_lock_for(60s));
  end.set_value();  // also after a failure: the registration waits for the callback
}

HOLDFAST_ON_EACH_STORE(lock_set_terms, any_store);

// One limit, and not one for each of the two waits: for the object, and for the names.
TEST(wait_limits, count_from_the_call) {
  client one{"memory:wait-limits"};
  client two{"memory:wait-limits"};
  const auto has_one_limit = [&](auto& lock, const char* name, duration limit) {
    lock.lock();
    EXPECT_TRUE(two.force_release(name));
    const auto other = mutex{two, name}.acquire();
    const auto called = boot_clock::now();
    auto waiting = std::async(std::launch::async, [&] { lock.lock(); });
    const auto first_wait = limit / 2;  // for the object
    const bool waits = waiting.wait_for(first_wait) == std::future_status::timeout;
    lock.unlock();  // it was lost, and had kept its place in the object
    EXPECT_THROW(waiting.get(), error);
    return waits && boot_clock::now() - called < first_wait + limit;  // else the names had one of their own
  };
  within_a_ttl(400ms, [&](duration limit) {
    mutex lock{one, "a", lock_options{}.wait_limit(limit)};
    return has_one_limit(lock, "a", limit);
  });
  within_a_ttl(400ms, [&](duration limit) {
    lock_set lock{one, {"b", "c"}, lock_options{}.wait_limit(limit)};
    return has_one_limit(lock, "c", limit);
  });
}

}  // namespace
}  // namespace holdfast::contract
