// SPDX-License-Identifier: Apache-2.0
// How a hold lives and ends: renewal, expiry, loss, force, release.

#include <atomic>
#include <deque>
#include <future>
#include <memory>

#include "contract/contract.hpp"
#include "contract/sleeping_thread.hpp"

namespace holdfast::contract {
namespace {

class lifetime : public in_both_flavours {
 protected:
  static lock_options fixed(duration ttl) { return lock_options{}.ttl(ttl).renewal(false); }
};

/// What on_lost() told, and when. The callback may run after a test that has failed.
class loss {
 public:
  explicit loss(lease& held) {
    held.on_lost([report = report_](std::error_code code) {
      report->at = boot_clock::now();
      ++report->calls;
      report->reason.set_value(code);
    });
  }
  std::error_code reason() {
    if (future_.wait_for(60s) != std::future_status::ready) return errc::timeout;
    return future_.get();
  }
  [[nodiscard]] int calls() const { return report_->calls; }
  /// Only after reason().
  [[nodiscard]] boot_clock::time_point at() const { return report_->at; }

 private:
  struct report {
    boot_clock::time_point at;
    std::atomic<int> calls{0};
    std::promise<std::error_code> reason;
  };

  const std::shared_ptr<report> report_ = std::make_shared<report>();
  std::future<std::error_code> future_ = report_->reason.get_future();
};

TEST_P(lifetime, a_deadline_is_within_the_ttl_and_its_margin) {
  const auto before = boot_clock::now();
  const auto got = by(one(), "stock", lock_options{}.ttl(20s).drift_margin(3s)).take(exclusive);
  const auto deadline = got.held.deadline();  // before `after`: the beats of a session move it
  const auto after = boot_clock::now();
  // A session of 20 s reaches 8.8 s ahead at least, less the time that its beats take.
  EXPECT_GE(deadline, before + (GetParam().kind.keeps_sessions ? 7s : 17s));
  EXPECT_LE(deadline, after + 17s);
  EXPECT_LE(got.held.remaining(), 17s);
  EXPECT_GT(got.held.remaining(), 0s);
}

TEST_P(lifetime, a_fixed_lease_ends_and_the_next_waiter_gets_it) {
  auto first = by(one(), "stock", fixed(300ms)).take(exclusive);
  ASSERT_TRUE(first.held);
  auto next = by(two(), "stock").take(exclusive);
  EXPECT_FALSE(first.held.held());
  EXPECT_EQ(first.held.remaining(), 0s);
  EXPECT_GT(next.held.token(), first.held.token());
  EXPECT_EQ(by(one(), "stock").release(std::move(first.held)), errc::lost);
  EXPECT_TRUE(next.held.held());
  EXPECT_EQ(inspect("stock").holders.size(), 1U);
}

TEST_P(lifetime, fixed_permits_and_shared_holds_end_too) {
  HOLDFAST_NEEDS_PERMITS();
  const auto reader = by(one(), "stock", fixed(300ms)).take(shared);
  EXPECT_TRUE(by(two(), "stock").take(exclusive).held.held());
  counting_semaphore seats{one(), "seats", 2, fixed(1s)};
  const auto one_seat = seats.acquire_permits(1);
  EXPECT_TRUE(by(two(), "seats", 2).take(permits(2)).held.held());
}

TEST_P(lifetime, a_renewed_lease_lives_on_for_many_ttls) {
  within_a_ttl(400ms, [&](duration ttl) {
    const auto got = by(one(), "stock", lock_options{}.ttl(ttl)).take(exclusive);
    const auto first_deadline = got.held.deadline();
    const auto next = by(two(), "stock").take(exclusive.within(5 * ttl));
    if (!got.held.held()) return false;
    EXPECT_FALSE(next.held) << "five ttls were not outlived";
    EXPECT_GT(got.held.deadline(), first_deadline);
    return true;
  });
}

TEST_P(lifetime, a_fixed_lease_may_be_renewed_by_hand) {
  auto got = by(one(), "stock", fixed(10s)).take(exclusive);
  const auto before = got.held.deadline();
  EXPECT_EQ(got.held.renew(), renewal::renewed);
  EXPECT_GT(got.held.deadline(), before);
}

TEST_P(lifetime, what_has_ended_is_never_renewed) {
  auto first = by(one(), "stock", fixed(300ms)).take(exclusive);
  const auto next = by(two(), "stock").take(exclusive);
  EXPECT_EQ(first.held.renew(), renewal::lost);
  EXPECT_FALSE(first.held.held());
  EXPECT_TRUE(next.held.held());
}

TEST_P(lifetime, loss_is_told_before_the_next_one_holds) {
  within_a_ttl(900ms, [&](duration ttl) {
    auto first = by(one(), "stock", fixed(ttl).drift_margin(ttl * 4 / 9)).take(exclusive);
    loss loss_signal{first.held};
    const auto next = by(two(), "stock").take(exclusive);
    const auto next_holds = boot_clock::now();
    EXPECT_FALSE(first.held.held());
    EXPECT_TRUE(next.held);
    EXPECT_EQ(loss_signal.reason(), errc::lost);
    EXPECT_TRUE(first.held.lost().stop_requested());
    return loss_signal.at() < next_holds;  // else the teller's thread had no time
  });
}

TEST_P(lifetime, loss_is_told_once_and_at_once_to_those_who_ask_late) {
  auto got = by(one(), "stock", fixed(300ms)).take(exclusive);
  ASSERT_TRUE(got.held) << got.code.message();
  loss early{got.held};
  EXPECT_EQ(early.reason(), errc::lost);
  loss late{got.held};
  EXPECT_EQ(late.reason(), errc::lost);
  EXPECT_EQ(late.calls(), 1);
  EXPECT_EQ(by(one(), "stock").release(std::move(got.held)), errc::lost);
  EXPECT_EQ(early.calls(), 1);
}

TEST_P(lifetime, loss_is_not_told_of_what_was_released) {
  within_a_ttl(300ms, [&](duration ttl) {
    auto got = by(one(), "stock", fixed(ttl)).take(exclusive);
    const auto deadline = got.held.deadline();
    const auto calls = std::make_shared<std::atomic<int>>(0);
    got.held.on_lost([calls](std::error_code) { ++*calls; });
    const auto lost = got.held.lost();
    const auto code = by(one(), "stock").release(std::move(got.held));
    const bool too_late = code == errc::lost || code == errc::unknown_outcome;
    if (too_late && boot_clock::now() > deadline) return false;
    EXPECT_FALSE(code) << code.message();
    // A lease that began later and ends later is told of its end by the same keeper.
    auto later = by(one(), "other", fixed(ttl)).take(exclusive);
    EXPECT_EQ(loss{later.held}.reason(), errc::lost);
    EXPECT_EQ(*calls, 0);
    EXPECT_FALSE(lost.stop_requested());
    return true;
  });
}

TEST_P(lifetime, a_loss_callback_may_use_the_library) {
  auto got = by(one(), "stock", fixed(300ms)).take(exclusive);
  mutex other{one(), "other"};
  std::promise<void> done;
  got.held.on_lost([&](std::error_code) {
    EXPECT_FALSE(got.held.held());
    EXPECT_EQ(got.held.release(), errc::lost);
    auto second = other.try_acquire();
    EXPECT_TRUE(second);
    EXPECT_TRUE(one().inspect("other"));
    EXPECT_FALSE(second->release());
    done.set_value();
  });
  EXPECT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
}

TEST_P(lifetime, a_loss_callback_may_close_the_client) {
  auto got = by(one(), "stock", fixed(300ms)).take(exclusive);
  std::promise<void> done;
  got.held.on_lost([&](std::error_code) {
    one().close();
    done.set_value();
  });
  EXPECT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
}

TEST_P(lifetime, force_ends_a_hold_and_serves_the_next_waiter) {
  auto first = by(one(), "stock", lock_options{}.ttl(12s)).take(exclusive);
  loss loss_signal{first.held};
  auto waiting = by(two(), "stock").start(exclusive);
  ASSERT_TRUE(look().sees_waiters("stock", 1));

  EXPECT_EQ(bystander().force_release("stock"), 1U);
  auto next = get(waiting);
  ASSERT_TRUE(next.held.held());
  EXPECT_GT(next.held.token(), first.held.token());
  EXPECT_EQ(loss_signal.reason(), errc::lost) << "the holder was not told by its next renewal";
  EXPECT_EQ(first.held.loss(), loss_reason::ended_at_store);
  EXPECT_FALSE(first.held.held());
  EXPECT_EQ(by(one(), "stock").release(std::move(first.held)), errc::lost);
  EXPECT_TRUE(next.held.held());
  EXPECT_EQ(inspect("stock").holders.size(), 1U) << "the loser's release hit the next holder";
}

TEST_P(lifetime, force_ends_all_holds_of_a_name_and_no_other) {
  const auto first = by(one(), "stock").take(shared);
  const auto second = by(two(), "stock").take(shared);
  const auto other = by(one(), "other").take(exclusive);
  EXPECT_EQ(bystander().force_release("stock"), 2U);
  EXPECT_EQ(bystander().force_release("stock"), 0U);
  EXPECT_EQ(bystander().force_release("never heard of"), 0U);
  EXPECT_EQ(inspect("other").holders.size(), 1U);
}

TEST_P(lifetime, force_ends_one_holder_by_its_token) {
  const auto first = by(one(), "stock").take(shared);
  const auto second = by(two(), "stock").take(shared);
  EXPECT_TRUE(bystander().force_release("stock", first.held.token()));
  ASSERT_EQ(inspect("stock").holders.size(), 1U);
  EXPECT_EQ(inspect("stock").holders[0].token, second.held.token());
  EXPECT_FALSE(bystander().force_release("stock", first.held.token())) << "it has ended";
  EXPECT_TRUE(bystander().force_release("stock", second.held.token()));
  EXPECT_TRUE(inspect("stock").holders.empty());
  EXPECT_FALSE(bystander().force_release("never heard of", first.held.token()));
  EXPECT_THROW(bystander().force_release("stock", fencing_token{}), error);
}

TEST_P(lifetime, a_release_reports_and_happens_once) {
  contender& lock = by(one(), "stock");
  auto got = lock.take(exclusive);
  EXPECT_FALSE(lock.release(std::move(got.held)));
  EXPECT_TRUE(inspect("stock").holders.empty()) << "reported before the store had done it";
  EXPECT_EQ(lock.release(lease{}), errc::not_owner);
}

TEST_P(lifetime, a_dropped_lease_is_given_back) {
  {
    const auto got = by(one(), "stock").take(exclusive);
  }
  EXPECT_TRUE(look().sees_holders("stock", 0));
  auto got = by(one(), "stock").take(exclusive);
  got.held = lease{};
  EXPECT_TRUE(by(two(), "stock").take(exclusive.within(60s)).held);
}

TEST_P(lifetime, a_moved_lease_is_held_once) {
  auto got = by(one(), "stock").take(exclusive);
  lease moved{std::move(got.held)};
  EXPECT_TRUE(moved.held());
  EXPECT_FALSE(got.held);  // NOLINT(bugprone-use-after-move): that is the question
  lease assigned;
  EXPECT_FALSE(assigned.held());
  EXPECT_TRUE(assigned.lost().stop_requested());
  assigned = std::move(moved);
  EXPECT_TRUE(assigned.held());
  EXPECT_FALSE(by(two(), "stock").take(exclusive.at_once()).held);
  EXPECT_FALSE(assigned.release());
  EXPECT_TRUE(by(two(), "stock").take(exclusive.at_once()).held);
}

HOLDFAST_IN_BOTH_FLAVOURS(lifetime, any_store);

class kept_holds : public on_each_store {};

TEST_P(kept_holds, are_unlocked_by_their_object_alone) {
  mutex lock{one(), "stock"};
  mutex other{one(), "stock"};
  lock.lock();
  other.unlock();
  EXPECT_TRUE(lock.held());
  EXPECT_FALSE(other.try_lock());
  lock.unlock();
  EXPECT_FALSE(lock.held());
  lock.unlock();  // a second time: nothing to give back
  EXPECT_TRUE(other.try_lock_for(60s));
  lock.unlock();  // another's hold by now
  EXPECT_TRUE(other.held());
  EXPECT_EQ(inspect("stock").holders.size(), 1U);
  other.unlock();
}

TEST_P(kept_holds, that_were_lost_release_nobody_else) {
  mutex lock{one(), "stock", lock_options{}.ttl(300ms).renewal(false)};
  mutex next{two(), "stock"};
  insist([&] { lock.lock(); });
  const auto lost = lock.lost();
  next.lock();
  EXPECT_FALSE(lock.held());
  EXPECT_TRUE(lock.lost().stop_requested());  // who asks is told at once; who has asked, by another thread
  EXPECT_TRUE(look().sees([&] { return lost.stop_requested(); }));
  lock.unlock();
  EXPECT_TRUE(next.held());
  EXPECT_EQ(inspect("stock").holders.size(), 1U);
  next.unlock();
}

TEST_P(kept_holds, that_were_lost_keep_the_object_locked_and_the_name_free) {
  mutex lock{one(), "stock", lock_options{}.ttl(300ms).renewal(false)};
  mutex next{two(), "stock"};
  insist([&] { lock.lock(); });
  next.lock();
  next.unlock();
  const auto another_user = [&] { return lock.try_lock() || lock.try_lock_for(20ms); };
  EXPECT_FALSE(std::async(std::launch::async, another_user).get()) << "its first user has not unlocked it";
  EXPECT_TRUE(next.try_lock_for(60s));
  next.unlock();
  lock.unlock();
  EXPECT_TRUE(insist([&] { return lock.try_lock_for(60s); }));
  lock.unlock();
}

TEST_P(kept_holds, that_were_lost_are_not_awaited_by_the_thread_that_has_to_unlock_them) {
  shared_mutex lock{one(), "stock", lock_options{}.ttl(2s).renewal(false)};
  const auto expect_all_to_fail = [&] {
    ASSERT_TRUE(look().sees([&] { return !lock.held(); }));
    EXPECT_EQ(failure_of([&] { lock.lock(); }).code, errc::lost) << "it would wait for ever";
    EXPECT_EQ(failure_of([&] { return lock.try_lock(); }).code, errc::lost);
    EXPECT_EQ(failure_of([&] { return lock.try_lock_for(60s); }).code, errc::lost);
    EXPECT_EQ(failure_of([&] { lock.lock_shared(); }).code, errc::lost);
  };
  lock.lock();
  expect_all_to_fail();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_shared_for(60s));
  expect_all_to_fail();
  lock.unlock_shared();
  EXPECT_TRUE(lock.try_lock_for(60s));
  lock.unlock();
}

TEST_P(kept_holds, that_were_lost_are_told_to_other_threads_at_their_wait_limit) {
  mutex lock{one(), "stock", lock_options{}.ttl(2s).renewal(false).wait_limit(50ms)};
  ASSERT_TRUE(lock.try_lock_for(60s));
  ASSERT_TRUE(look().sees([&] { return !lock.held(); }));
  std::async(std::launch::async, [&] {
    const auto failed = failure_of([&] { lock.lock(); });
    EXPECT_EQ(failed.code, errc::timeout);
    EXPECT_THAT(failed.text, testing::HasSubstr("did not unlock it")) << "nobody holds the name";
  }).get();
  lock.unlock();
}

TEST_P(kept_holds, that_were_lost_are_awaited_by_every_thread_that_locks) {
  within_a_ttl(400ms, [&](duration limit) {
    mutex lock{one(), "stock", lock_options{}.ttl(300ms).renewal(false)};
    mutex next{two(), "stock"};
    insist([&] { lock.lock(); });
    next.lock();  // by now the first hold is lost
    std::atomic<bool> locked = false;
    bool all_wait = true;
    // The first to wake times out at the store; the second must not rely on it.
    std::deque<sleeping_thread> threads;
    for (int each = 0; each < 3; ++each) {
      threads.emplace_back([&] { EXPECT_FALSE(lock.try_lock_for(limit)); });
      all_wait = threads.back().sleeps() && all_wait;
    }
    threads.emplace_back([&] {
      insist([&] { lock.lock(); });
      locked = true;
      lock.unlock();
    });
    EXPECT_TRUE(threads.back().sleeps());
    all_wait = all_wait && !threads.front().has_ended();
    lock.unlock();
    for (std::size_t each = 0; each < 3; ++each) threads[each].join();
    EXPECT_FALSE(locked);
    next.unlock();
    EXPECT_TRUE(look().sees([&] { return locked.load(); })) << "nobody woke it";
    if (!locked) one().close();  // or the thread stays
    return all_wait;
  });
}

TEST_P(kept_holds, of_a_shared_mutex_are_held_while_they_are_downgraded) {
  shared_mutex lock{one(), "stock"};
  lock.lock();
  const auto token = lock.token();
  std::atomic<bool> done = false;
  std::atomic<int> looks = 0;
  std::jthread looking{[&] {
    while (!done) {
      EXPECT_TRUE(lock.held());
      EXPECT_EQ(lock.token(), token);
      ++looks;
    }
  }};
  while (looks < 100) std::this_thread::yield();
  lock.unlock_and_lock_shared();
  done = true;
  looking.join();
  lock.unlock_shared();
}

TEST_P(kept_holds, tell_their_token_and_their_absence) {
  mutex lock{one(), "stock"};
  EXPECT_FALSE(lock.held());
  EXPECT_EQ(failure_of([&] { return lock.token(); }).code, errc::not_owner);
  EXPECT_EQ(failure_of([&] { return lock.lost(); }).code, errc::not_owner);
  lock.lock();
  EXPECT_EQ(lock.token(), inspect("stock").holders.at(0).token);
  EXPECT_FALSE(lock.lost().stop_requested());
  lock.unlock();
  EXPECT_EQ(failure_of([&] { return lock.token(); }).code, errc::not_owner);
}

TEST_P(kept_holds, of_a_shared_mutex_are_several_and_may_be_downgraded) {
  shared_mutex lock{one(), "stock"};
  shared_mutex other{two(), "stock"};
  lock.lock_shared();
  EXPECT_TRUE(lock.try_lock_shared());
  EXPECT_EQ(inspect("stock").holders.size(), 2U);
  lock.unlock_shared();
  EXPECT_FALSE(other.try_lock());
  lock.unlock_shared();
  EXPECT_TRUE(other.try_lock_for(60s));
  other.unlock_and_lock_shared();
  EXPECT_TRUE(lock.try_lock_shared_for(60s));
  other.unlock_shared();
  lock.unlock_shared();
  EXPECT_TRUE(lock.try_lock_for(60s));
  lock.unlock();
  EXPECT_THROW(lock.unlock_and_lock_shared(), error);
}

HOLDFAST_ON_EACH_STORE(kept_holds, any_store);

}  // namespace
}  // namespace holdfast::contract
