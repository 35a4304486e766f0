// SPDX-License-Identifier: Apache-2.0
// What ends with a client, and what a child after fork() has.

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/contract.hpp"
#include "contract/sleeping_thread.hpp"

namespace holdfast::contract {
namespace {

class closing : public in_both_flavours {};

TEST_P(closing, ends_all_waits) {
  const auto held = by(one(), "stock").take(exclusive);
  auto first = by(two(), "stock").start(exclusive);
  auto second = by(two(), "stock").start(shared.within(60s));
  ASSERT_TRUE(look().sees_waiters("stock", 2));
  two().close();
  EXPECT_EQ(get(first).code, errc::closed);
  EXPECT_EQ(get(second).code, errc::closed);
  EXPECT_TRUE(look().sees_waiters("stock", 0));
  EXPECT_TRUE(held.held.held());
}

TEST_P(closing, ends_all_leases_and_tells_so) {
  auto held = by(one(), "stock").take(exclusive);
  std::promise<std::error_code> loss;
  held.held.on_lost([&](std::error_code reason) { loss.set_value(reason); });
  one().close();
  EXPECT_FALSE(held.held.held());
  EXPECT_TRUE(held.held.lost().stop_requested());
  EXPECT_EQ(loss.get_future().get(), errc::closed);
  EXPECT_TRUE(inspect("stock").holders.empty()) << "the store was not told";
  EXPECT_TRUE(by(one(), "stock").release(std::move(held.held)));
}

TEST_P(closing, may_come_while_losses_are_being_told) {
  std::promise<void> first_notified;
  std::promise<void> go_on;
  std::atomic<int> calls = 0;
  {
    client passing{store_->url()};
    mutex first{passing, "first"};
    mutex second{passing, "second"};
    mutex third{passing, "third"};
    auto first_lease = first.acquire();
    auto second_lease = second.acquire();
    auto ended_by_closing = third.acquire();
    first_lease.on_lost([&](std::error_code) {
      first_notified.set_value();
      go_on.get_future().wait();
      ++calls;
    });
    second_lease.on_lost([&](std::error_code) { ++calls; });
    ended_by_closing.on_lost([&](std::error_code) { ++calls; });
    // Not by a short ttl: on_lost() of what had ended by then would call back, and wait, on this thread.
    bystander().force_release("first");
    bystander().force_release("second");
    // The leader of an ensemble may answer its own clients from before what another server has carried out.
    const auto is_lost = [&](lease& held) {
      const auto now = [&] { return held.renew() == renewal::lost; };
      return GetParam().kind.keeps_sessions ? look().sees(now) : now();
    };
    EXPECT_TRUE(is_lost(first_lease));
    EXPECT_EQ(first_notified.get_future().wait_for(60s), std::future_status::ready);
    EXPECT_TRUE(is_lost(second_lease));
    passing.close();
    go_on.set_value();
  }
  EXPECT_EQ(calls, 3) << "exactly once each, before the client was gone";
}

TEST_P(closing, flushes_what_was_unlocked_without_waiting) {
  mutex lock{one(), "stock"};
  lock.lock();
  lock.unlock();
  one().close();
  EXPECT_TRUE(by(two(), "stock").take(exclusive.at_once()).held);
}

TEST_P(closing, fails_what_is_asked_afterwards) {
  one().close();
  one().close();  // idempotent
  EXPECT_EQ(by(one(), "stock").take(exclusive).code, errc::closed);
  EXPECT_EQ(by(one(), "stock").take(exclusive.at_once()).code, errc::closed);
  EXPECT_EQ(failure_of([&] { return one().inspect("stock"); }).code, errc::closed);
  EXPECT_EQ(failure_of([&] { return one().list(); }).code, errc::closed);
  EXPECT_EQ(failure_of([&] { one().force_release("stock"); }).code, errc::closed);
}

TEST_P(closing, happens_once_when_several_threads_ask_for_it) {
  const auto held = by(one(), "stock").take(exclusive);
  {
    std::array<std::jthread, 3> threads;
    for (auto& thread : threads) thread = std::jthread{[&] { one().close(); }};
  }
  EXPECT_FALSE(held.held.held());
  EXPECT_TRUE(inspect("stock").holders.empty());
}

HOLDFAST_IN_BOTH_FLAVOURS(closing, any_store);

class outliving : public on_each_store {};

TEST_P(outliving, a_client_leaves_leases_and_locks_that_hold_nothing) {
  auto locks = std::make_unique<client>(store_->url(), client_options{}.flush_limit(50s));
  mutex lock{*locks, "stock"};
  shared_mutex kept{*locks, "kept"};
  kept.lock_shared();
  lease held = lock.acquire();
  locks.reset();

  EXPECT_FALSE(held.held());
  EXPECT_TRUE(held.lost().stop_requested());
  EXPECT_EQ(held.name(), "stock");
  EXPECT_EQ(held.renew(), renewal::lost);
  EXPECT_TRUE(held.release());
  EXPECT_FALSE(kept.held());
  kept.unlock_shared();
  EXPECT_THROW(lock.lock(), error);
  EXPECT_EQ(lock.name(), "stock");
  EXPECT_TRUE(bystander().list().empty());
}

TEST_P(outliving, a_client_may_be_moved_with_everything_on_it) {
  client first{store_->url()};
  mutex lock{first, "stock"};
  const lease held = lock.acquire();
  client second{std::move(first)};
  EXPECT_TRUE(held.held());
  EXPECT_TRUE(second.inspect("stock"));
  client third{store_->url()};
  mutex other{third, "other"};
  const lease ended = other.acquire();
  third = std::move(second);  // closes what it was
  EXPECT_FALSE(ended.held());
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(mutex(third, "stock").try_lock());
}

TEST_P(outliving, a_lock_may_be_destroyed_while_its_lease_lives) {
  auto lock = std::make_unique<mutex>(one(), "stock");
  lease held = lock->acquire();
  lock.reset();
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(held.release());
}

TEST_P(outliving, a_lock_that_is_destroyed_locked_is_unlocked) {
  {
    mutex lock{one(), "stock"};
    lock.lock();
  }
  EXPECT_TRUE(look().sees_holders("stock", 0));
}

TEST_P(outliving, a_client_ends_the_wait_for_a_lost_hold_to_be_unlocked) {
  mutex lock{one(), "stock", lock_options{}.ttl(300ms).renewal(false)};
  insist([&] { lock.lock(); });
  ASSERT_TRUE(look().sees([&] { return !lock.held(); }));
  std::error_code code;
  {
    sleeping_thread waiting{[&] {
      try {
        lock.lock();
      } catch (const error& failed) {
        code = failed.code();
      }
    }};
    EXPECT_TRUE(waiting.sleeps());
    one().close();
  }
  EXPECT_EQ(code, errc::closed);
  EXPECT_THROW(lock.lock(), error);
}

HOLDFAST_ON_EACH_STORE(outliving, any_store);

class after_fork : public on_each_store {
 protected:
  /// Runs `check` in a child and answers whether it said yes there, and ended well.
  template <class Check>
  static bool in_child(Check check) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);  // ends a child that hangs
      bool good = false;
      try {
        good = check();
      } catch (...) {
      }
      ::_exit(good ? 0 : 1);  // nothing of the parent's is flushed or destroyed a second time
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

TEST_P(after_fork, a_child_holds_nothing_and_takes_nothing_away) {
  auto locks = std::make_unique<client>(store_->url(), client_options{}.flush_limit(50s));
  auto lock = std::make_unique<mutex>(*locks, "stock");
  auto held = std::make_unique<lease>(mutex{*locks, "lease"}.acquire());
  lock->lock();
  EXPECT_TRUE(in_child([&] {
    const bool inert = !lock->held() && !held->held() && held->lost().stop_requested();
    const bool refused = static_cast<bool>(held->release());
    lock->unlock();
    held.reset();
    lock.reset();
    locks.reset();
    return inert && refused;
  }));
  EXPECT_TRUE(lock->held());
  EXPECT_TRUE(held->held());
  EXPECT_FALSE(mutex(two(), "stock").try_lock()) << "the child's unlock reached the store";
  EXPECT_EQ(inspect("lease").holders.size(), 1U) << "the child's destructor reached the store";
}

TEST_P(after_fork, a_child_cannot_use_the_clients_of_its_parent) {
  mutex lock{one(), "stock"};
  EXPECT_TRUE(in_child([&] { return failure_of([&] { lock.lock(); }).code == errc::closed; }));
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST_P(after_fork, a_child_does_not_wait_for_what_its_parent_holds) {
  auto lock = std::make_unique<mutex>(one(), "stock", lock_options{}.ttl(300ms).renewal(false));
  auto nested = std::make_unique<recursive_mutex>(one(), "nested");
  nested->lock();
  insist([&] { lock->lock(); });
  ASSERT_TRUE(look().sees([&] { return !lock->held(); }));
  {
    sleeping_thread waiting{[&] {
      insist([&] { lock->lock(); });
      lock->unlock();
    }};
    EXPECT_TRUE(waiting.sleeps());
    EXPECT_TRUE(in_child([&] {
      const auto is_refused = [](auto ask) { return failure_of(ask).code == errc::closed; };
      bool good = is_refused([&] { lock->lock(); });
      good = is_refused([&] { return lock->try_lock(); }) && good;
      good = is_refused([&] { return lock->token(); }) && good;
      good = is_refused([&] { nested->lock(); }) && good;
      good = !lock->held() && !nested->held() && good;
      lock->unlock();
      nested->unlock();
      lock.reset();  // its thread that waits is not there
      nested.reset();
      return good;
    }));
    lock->unlock();
  }
  EXPECT_TRUE(nested->held());
  nested->unlock();
}

TEST_P(after_fork, a_child_ends_no_watch_of_its_parent) {
  std::promise<void> first;
  std::promise<void> go_on;
  std::atomic<int> calls = 0;
  auto watch = one().watch([&] {
    if (++calls != 1) return;
    first.set_value();
    go_on.get_future().wait();
  });
  first.get_future().wait();
  // The callback runs: whatever guards it is locked in the child for ever.
  EXPECT_TRUE(in_child([&] {
    watch.reset();
    return true;
  }));
  go_on.set_value();
  mutex lock{two(), "stock"};
  EXPECT_TRUE(look().sees([&] {
    static_cast<void>(lock.try_lock());
    lock.unlock();
    return calls > 1;
  }));
}

HOLDFAST_ON_EACH_STORE(after_fork, any_store);

class child_of_fork : public after_fork {};

TEST_P(child_of_fork, opens_a_client_of_its_own) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "ThreadSanitizer takes the child's threads for those of its parent (\"dup thread with used id\")";
#elif defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
  GTEST_SKIP()
      << "g++ 12's AddressSanitizer does not hand its allocator's locks over a fork, as malloc does: the "
         "child waits for one that a thread of its parent held";
#endif
  mutex lock{one(), "stock"};
  lock.lock();
  EXPECT_TRUE(in_child([&] {
    client locks{store_->url()};
    const bool parent_holds = !mutex(locks, "stock").try_lock();
    const bool other_is_free = mutex(locks, "other").try_lock();
    return parent_holds && other_is_free;
  }));
  EXPECT_TRUE(lock.held());
  lock.unlock();
}

HOLDFAST_ON_EACH_STORE(child_of_fork, across_processes);

}  // namespace

}  // namespace holdfast::contract
