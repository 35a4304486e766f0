// SPDX-License-Identifier: Apache-2.0
// lease_set::add: leases of several clients and stores count as one.

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

/// A name of the store, and one of another store.
class joint_leases : public on_each_store {
 protected:
  lease of_store() { return mutex{one(), "a"}.acquire(); }
  lease of_other() { return mutex{other_, "b"}.acquire(); }
  static lease_set both(lease first, lease second) {
    lease_set held;
    held.add(std::move(first));
    held.add(std::move(second));
    EXPECT_EQ(held.renew(), renewal::renewed);  // on ZooKeeper a hold is watched from its first renewal on
    return held;
  }
  bool is_free_at_store() { return look().sees_holders("a", 0); }
  bool is_free_at_other() { return observer{beside_}.sees_holders("b", 0); }
  void expect_loss(lease_set& held, std::size_t lost) {
    EXPECT_TRUE(look().sees([&] { return held.lost().stop_requested(); }));
    EXPECT_FALSE(held.held());
    EXPECT_EQ(held.remaining(), 0s);
    ASSERT_NE(held.lost_lease(), nullptr);
    EXPECT_EQ(held.lost_lease(), &held.leases()[lost]) << "it names the lock";
    EXPECT_EQ(held.lost_lease()->loss(), loss_reason::ended_at_store);
    EXPECT_TRUE(held.leases()[1 - lost].held()) << "the work on it is to end first";
    EXPECT_EQ(held.release(), errc::lost);
    EXPECT_TRUE(is_free_at_store());
    EXPECT_TRUE(is_free_at_other());
  }

  client other_{"memory:joint-leases"};
  client beside_{"memory:joint-leases"};
};

TEST_P(joint_leases, are_held_until_they_are_released) {
  auto held = both(of_other(), of_store());
  EXPECT_TRUE(held.held());
  ASSERT_EQ(held.leases().size(), 2U);
  EXPECT_EQ(held.leases()[0].name(), "b");
  EXPECT_EQ(held.token("a"), held.leases()[1].token());
  EXPECT_LE(held.deadline(), std::min(held.leases()[0].deadline(), held.leases()[1].deadline()));
  EXPECT_GT(held.remaining(), 0s);
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_EQ(held.lost_lease(), nullptr);
  EXPECT_FALSE(mutex(two(), "a").try_lock());
  EXPECT_FALSE(mutex(beside_, "b").try_lock());
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(held);
  EXPECT_TRUE(is_free_at_store());
  EXPECT_TRUE(is_free_at_other());
}

TEST_P(joint_leases, are_released_by_the_destructor) {
  static_cast<void>(both(of_other(), of_store()));
  EXPECT_TRUE(is_free_at_store());
  EXPECT_TRUE(is_free_at_other());
}

TEST_P(joint_leases, are_lost_with_the_first) {
  auto held = both(of_store(), of_other());
  EXPECT_TRUE(bystander().force_release("a"));
  expect_loss(held, 0);
}

TEST_P(joint_leases, are_lost_with_the_last) {
  auto held = both(of_other(), of_store());
  EXPECT_TRUE(bystander().force_release("a"));
  expect_loss(held, 1);
}

TEST_P(joint_leases, are_lost_with_one_of_another_store) {
  auto held = both(of_store(), of_other());
  EXPECT_TRUE(beside_.force_release("b"));
  expect_loss(held, 1);
}

TEST_P(joint_leases, hear_of_requests_to_release_one) {
  auto held = both(of_other(), of_store());
  const auto requested = held.release_requested();
  EXPECT_EQ(bystander().request_release("a", "please"), 1U);
  EXPECT_TRUE(look().sees([&] { return requested.stop_requested(); }));
  EXPECT_EQ(held.release_request(), "please");
  EXPECT_TRUE(held.held());
}

HOLDFAST_ON_EACH_STORE(joint_leases, any_store);

class joint_leases_at_a_silent_store : public joint_leases {
 protected:
  /// Until an answer comes, nothing else is released.
  std::future<std::error_code> release(lease_set& held) {
    auto released = std::async(std::launch::async, [&held] { return held.release(); });
    EXPECT_EQ(begun_.get_future().wait_for(60s), std::future_status::ready);
    return released;
  }
  lease of_observed() {
    auto& locks = open(client_options{}.observer([this](const event& seen) {
      if (seen.kind == event_kind::released) begun_.set_value();
    }));
    return mutex{locks, "a"}.acquire();
  }

  std::promise<void> begun_;
};

TEST_P(joint_leases_at_a_silent_store, are_released_one_after_the_other_the_last_one_first) {
  auto held = both(of_other(), of_observed());
  const auto lost = held.lost();
  store_->stop_answering();
  auto released = release(held);
  EXPECT_EQ(beside_.inspect("b").value().holders.size(), 1U) << "it is the first";
  store_->answer_again();
  const auto code = released.get();
  // If the machine stood still meanwhile, the release had to give up.
  EXPECT_TRUE(!code || code == errc::unknown_outcome || code == errc::lost) << code.message();
  EXPECT_TRUE(is_free_at_other());
  EXPECT_FALSE(lost.stop_requested() && !code);
}

TEST_P(joint_leases_at_a_silent_store, tell_no_loss_once_they_are_being_released) {
  auto held = both(of_other(), of_observed());
  const auto lost = held.lost();
  const bool was_held = !lost.stop_requested();
  store_->stop_answering();
  auto released = release(held);
  EXPECT_TRUE(beside_.force_release("b"));
  store_->answer_again();
  EXPECT_EQ(released.get(), errc::lost) << "the result does";
  EXPECT_TRUE(was_held && !lost.stop_requested());
}

HOLDFAST_ON_EACH_STORE(joint_leases_at_a_silent_store, breakable);

class added_leases : public testing::Test {
 protected:
  static lease of(client& locks, const char* name = "x") { return mutex{locks, name}.acquire(); }

  client old_{"memory:"};
  client new_{"memory:"};
};

TEST_F(added_leases, of_one_name_have_each_their_token) {
  lease_set held;
  held.add(of(old_));
  held.add(of(new_));
  EXPECT_EQ(held.token("x"), held.leases()[0].token());
  EXPECT_GT(held.leases()[1].token(), fencing_token{});
}

TEST_F(added_leases, fire_the_signals_that_were_given_before) {
  lease_set held;
  held.add(of(old_));
  auto later = lock_set{new_, {"y", "z"}}.acquire();
  const auto lost = held.lost();
  const auto lost_later = later.lost();
  held.add(std::move(later));
  EXPECT_FALSE(later);
  ASSERT_EQ(held.leases().size(), 3U);
  EXPECT_TRUE(new_.force_release("z"));
  std::promise<void> loss;
  const std::stop_callback on_loss{lost, [&] { loss.set_value(); }};
  EXPECT_EQ(loss.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(lost_later.stop_requested());
  EXPECT_EQ(held.lost_lease()->name(), "z");
}

TEST_F(added_leases, leave_signals_of_the_others_alone) {
  lease_set held;
  held.add(of(old_));
  auto later = lock_set{new_, {"y", "z"}}.acquire();
  const auto lost_later = later.lost();
  held.add(std::move(later));
  std::promise<void> loss;
  const std::stop_callback on_loss{held.lost(), [&] { loss.set_value(); }};
  EXPECT_TRUE(old_.force_release("x"));
  EXPECT_EQ(loss.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_FALSE(lost_later.stop_requested());
}

TEST_F(added_leases, keep_their_callbacks) {
  lease_set held;
  held.add(of(new_));
  auto first = of(old_);
  std::promise<std::error_code> reason;
  first.on_lost([&](std::error_code code) { reason.set_value(code); });
  held.add(std::move(first));
  EXPECT_TRUE(old_.force_release("x"));
  EXPECT_EQ(reason.get_future().get(), errc::lost);
}

TEST_F(added_leases, that_are_lost_end_the_set) {
  lease_set held;
  held.add(of(new_));
  const auto lost = held.lost();
  auto first = of(old_);
  EXPECT_TRUE(old_.force_release("x"));
  std::promise<void> loss;
  const std::stop_callback on_loss{first.lost(), [&] { loss.set_value(); }};
  EXPECT_EQ(loss.get_future().wait_for(60s), std::future_status::ready);
  held.add(std::move(first));
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(held.lost_lease()->name(), "x");
}

TEST_F(added_leases, are_lost_with_their_clients) {
  auto gone = std::make_unique<client>("memory:");
  lease_set held;
  held.add(of(*gone));
  held.add(of(new_));
  gone->close();
  EXPECT_TRUE(held.lost().stop_requested());
  EXPECT_EQ(held.lost_lease()->loss(), loss_reason::client_closed);
  gone.reset();
  EXPECT_TRUE(held.leases()[1].held());
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_TRUE(mutex(new_, "x").try_lock());

  auto late = std::make_unique<client>("memory:");
  auto outlived = of(*late);
  late.reset();
  held.add(of(old_));
  const auto lost = held.lost();
  held.add(std::move(outlived));
  EXPECT_TRUE(lost.stop_requested());
}

TEST_F(added_leases, have_to_be_some) {
  lease_set held;
  EXPECT_EQ(failure_of([&] { held.add(lease{}); }).code, errc::not_owner);
  EXPECT_EQ(failure_of([&] { held.add(lease_set{}); }).code, errc::not_owner);
  EXPECT_FALSE(held);
}

TEST_F(added_leases, of_the_set_itself_change_nothing) {
  lease_set held;
  held.add(of(old_));
  held.add(of(new_));
  const auto lost = held.lost();
  held.add(std::move(held));
  ASSERT_EQ(held.leases().size(), 2U);
  EXPECT_TRUE(held.held());
  EXPECT_TRUE(old_.force_release("x"));
  std::promise<void> loss;
  const std::stop_callback on_loss{lost, [&] { loss.set_value(); }};
  EXPECT_EQ(loss.get_future().wait_for(60s), std::future_status::ready);
}

}  // namespace
}  // namespace holdfast::contract
